"""Races: many writers at one key, and what their answers prove together."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from scenemosaic.stores.port import Answer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one writer was answered; None where its reply was lost. ``mark`` is what it sent."""

    mark: str
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """``problem`` says what cannot be where conditions are enforced; empty where nothing is wrong.

    A round that is not conclusive proves neither.
    """

    problem: str = ""
    conclusive: bool = True


def judge(attempts: Sequence[Attempt], read: Callable[[], str | None]) -> Judgement:
    """One round: exactly one writer may have won, and the stored mark must be that one's.

    ``read()`` gives the mark that is stored: None where nothing stands there, perhaps what
    stood there before, and empty where it is nothing that anybody sent whole. Two winners
    prove enough without it: a store that mixes two writes may be unable to serve either.
    """
    winners = [attempt.mark for attempt in attempts if attempt.answer is Answer.WRITTEN]
    if len(winners) > 1:
        return Judgement(f"{len(winners)} of {len(attempts)} writers were told that they had won")
    stored = read()
    if stored == "":
        return Judgement("what is stored is nothing that one writer sent")
    if winners:
        same = stored == winners[0]
        return Judgement("" if same else "what is stored is not what the winner sent")
    lost = {attempt.mark for attempt in attempts if attempt.answer is None}
    if stored in lost:  # it won, and its reply was lost
        return Judgement()
    if stored in {attempt.mark for attempt in attempts}:
        return Judgement("a write that was refused is stored")
    return Judgement(conclusive=False)


class Racers:
    """Threads that start together."""

    def __init__(self, pool: ThreadPoolExecutor, threads: int) -> None:
        self._pool = pool
        self.threads = threads

    def run(self, call: Callable[[int], T], threads: int | None = None) -> list[T]:
        """``call(n)`` for each thread's number, all at once; results in order."""
        count = min(threads or self.threads, self.threads)
        barrier = threading.Barrier(count)

        def start(number: int) -> T:
            barrier.wait()
            return call(number)

        try:
            futures = [self._pool.submit(start, number) for number in range(count)]
        except BaseException:
            barrier.abort()  # or those that were started would wait for ever
            raise
        return [future.result() for future in futures]
