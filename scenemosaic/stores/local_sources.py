"""The objects that a composition copies from, held open for all threads that copy."""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Protocol

from scenemosaic.errors import IncompleteError
from scenemosaic.stores import local_files as files
from scenemosaic.stores.pieces import whole
from scenemosaic.stores.port import CopyRun, ObjectInfo


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
    key: str
    source: Source | None
    closing: ExitStack
    users: int = 0

    def fill(self, run: CopyRun, room: memoryview) -> None:
        if self.source is None:
            raise IncompleteError(f"{run.key} is absent, and a composed object needs it")
        if self.source.info.etag != run.etag:
            raise IncompleteError(
                f"{run.key} has the ETag {self.source.info.etag}, not {run.etag}: it was replaced"
            )
        whole(run.key, files.read_into(self.source.descriptor, room, run.offset), len(room))

    def check(self) -> None:
        """Raises IncompleteError where it is not what it was when it was opened."""
        if self.source is None:
            return
        before, now = self.source.status, os.fstat(self.source.descriptor)
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise IncompleteError(f"{self.key} changed while it was copied")


@dataclass(slots=True)
class Sources:
    """Objects opened by key, the last few of them held open. Safe for many threads."""

    opened: Opener
    _lock: Lock = field(default_factory=Lock)
    _held: OrderedDict[str, _Held] = field(default_factory=OrderedDict)

    def read(self, run: CopyRun, room: memoryview) -> None:
        """Fill ``room`` with a run's bytes.

        Raises IncompleteError, naming the key, where the object is absent, is another version
        than the pinned one or is too short, or where one that is let go changed meanwhile.
        """
        try:
            with self._lock:
                held = self._take(run.key)
                held.users += 1
            try:
                held.fill(run, room)
            finally:
                with self._lock:
                    held.users -= 1
        except OSError as error:
            raise files.store_error(error, f"copying {run.key}") from error

    def _take(self, key: str) -> _Held:
        if key not in self._held:
            self._make_room()
            closing = ExitStack()
            self._held[key] = _Held(key, closing.enter_context(self.opened(key)), closing)
        self._held.move_to_end(key)
        return self._held[key]

    def _make_room(self) -> None:
        while len(self._held) >= _HELD:
            unused = next(held for held in self._held.values() if not held.users)
            unused.check()
            self._held.pop(unused.key).closing.close()

    def check(self) -> None:
        """Raises IncompleteError where an object changed since it was opened."""
        for held in self._held.values():
            held.check()

    def close(self) -> None:
        """Close them all; nobody reads any more."""
        for held in self._held.values():
            held.closing.close()


@contextmanager
def sources(opened: Opener) -> Iterator[Sources]:
    """Sources to read from; at the end they must be what they were as they were opened."""
    made = Sources(opened)
    try:
        yield made
        made.check()
    finally:
        made.close()
