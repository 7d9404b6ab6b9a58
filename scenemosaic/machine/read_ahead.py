"""Several readings one after the other, the next ones under way already, in bounded memory."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Semaphore
from typing import Final, Generic, TypeVar

A = TypeVar("A")


class _End:
    """Nothing comes after it."""


_END: Final = _End()


class _Reading(Generic[A]):
    """One reading, some items ahead of who takes them."""

    def __init__(self, items: Iterator[A], ahead: int) -> None:
        self._items, self._room = items, Semaphore(ahead)
        self._ready = SimpleQueue[A | _End]()
        self._stopped = False

    def begin(self, pool: ThreadPoolExecutor) -> "_Reading[A]":
        self._done = pool.submit(self._read)
        return self

    def take(self) -> Iterator[A]:
        """Every item; what reading raises is raised where the next one would be."""
        while not isinstance(item := self._ready.get(), _End):
            yield item
            self._room.release()
        self._done.result()

    def stop(self) -> None:
        self._stopped = True
        self._room.release()

    def _read(self) -> None:
        try:
            while self._room.acquire() and not self._stopped:
                item = next(self._items, _END)
                if isinstance(item, _End):
                    return
                self._ready.put(item)
        finally:
            self._ready.put(_END)


def in_turn(readings: Iterable[Iterator[A]], at_once: int, ahead: int) -> Iterator[A]:
    """The items of each reading, of the first one first.

    Up to ``at_once`` readings are under way, each in a thread, and hold ``ahead`` items each.
    """
    under_way: deque[_Reading[A]] = deque()
    with ThreadPoolExecutor(at_once, thread_name_prefix="read-ahead") as pool:
        try:
            for items in readings:
                under_way.append(_Reading(items, ahead).begin(pool))
                if len(under_way) == at_once:
                    yield from under_way[0].take()
                    under_way.popleft()
            while under_way:
                yield from under_way[0].take()
                under_way.popleft()
        finally:
            for reading in under_way:
                reading.stop()
