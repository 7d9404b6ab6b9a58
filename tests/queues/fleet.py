"""Consumers in processes of their own, killed as the work goes on and started again."""

import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.flows.serving import REPOSITORY
from tests.forked import Fork, forks
from tests.queues.aws import Queues

# The work goes on in other processes; only the looking waits.
_LOOK_S = 0.3
_END_S = 120


@dataclass
class Fleet:
    """``size`` consumers; ``start(name)`` starts one, which ends by itself once nothing comes."""

    queues: Queues
    start: Callable[[str], Fork]
    size: int
    seed: int
    killed: int = 0
    codes: list[int] = field(default_factory=list)
    _running: list[Fork] = field(default_factory=list)
    _started: int = 0

    def work(self, kill_below: Sequence[int]) -> None:
        """Run until the queue is empty; one is killed as fewer messages than each mark are left.

        Whoever is gone while messages are left is started again.
        """
        chance, marks = random.Random(self.seed), sorted(kill_below)
        try:
            while (left := self.queues.left()) > 0:
                self._fill_up()
                while marks and left < marks[-1]:
                    marks.pop()
                    self._kill(chance.randrange(self.size))
                time.sleep(_LOOK_S)
            self.codes += [process.wait(_END_S) for process in self._running]
        finally:
            for process in self._running:
                end(process)

    def _fill_up(self) -> None:
        for process in [one for one in self._running if one.poll() is not None]:
            self._running.remove(process)
            self.codes.append(int(process.returncode))
        while len(self._running) < self.size:
            self._running.append(self.start(f"consumer-{self._started}"))
            self._started += 1

    def _kill(self, which: int) -> None:
        end(self._running.pop(which))
        self.killed += 1
        self._fill_up()


def start_module(name: str, arguments: Sequence[str], env: Mapping[str, str], log: Path) -> Fork:
    """``python -m NAME ARGUMENTS``, its own process group, what it says in ``log``."""
    with log.open("wb") as out:
        return forks().start(name, arguments, REPOSITORY, {**os.environ, **env}, out)


def end(process: Fork) -> None:
    """SIGKILL to a process of ours and all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
