"""The objects that a composition copies from, held open for all threads that copy."""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Final, Protocol

from scenemosaic.stores.port import ObjectInfo


class Source(Protocol):
    """An object held open, which its name need not point to any more."""

    @property
    def descriptor(self) -> int: ...

    @property
    def status(self) -> os.stat_result: ...

    @property
    def info(self) -> ObjectInfo: ...


Opener = Callable[[str], AbstractContextManager[Source | None]]

# Block rows of the tiles beside each other come in turn; far below any limit of open files.
_HELD: Final = 128


@dataclass(slots=True)
class _Held:
    source: Source | None
    closing: ExitStack
    users: int = 0


class Sources:
    """Objects opened by key, the last few of them held open, for all threads of a copy."""

    def __init__(self, opened: Opener) -> None:
        self._opened = opened
        self._lock = Lock()
        self._held: OrderedDict[str, _Held] = OrderedDict()

    @contextmanager
    def using(self, key: str) -> Iterator[Source | None]:
        """The object at ``key``, open at least as long as the context lasts."""
        with self._lock:
            held = self._take(key)
            held.users += 1
        try:
            yield held.source
        finally:
            with self._lock:
                held.users -= 1

    def _take(self, key: str) -> _Held:
        if key not in self._held:
            self._make_room()
            closing = ExitStack()
            self._held[key] = _Held(closing.enter_context(self._opened(key)), closing)
        self._held.move_to_end(key)
        return self._held[key]

    def _make_room(self) -> None:
        while len(self._held) >= _HELD:
            unused = (key for key, held in self._held.items() if not held.users)
            self._held.pop(next(unused)).closing.close()

    def close(self) -> None:
        """Close them all; nobody uses one any more."""
        for held in self._held.values():
            held.closing.close()
