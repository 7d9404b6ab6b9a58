"""Writing a composed object's segments into an open local file, by two threads side by side.

Each takes the next chunk of the file, reads what belongs there and computes its CRC-32, and
writes it. The kernel lets one thread write to a file at a time, so one reads while the other
writes; two that merely wait for the kernel would spin.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Protocol

from isal import isal_zlib

from scenemosaic.errors import IncompleteError
from scenemosaic.machine.parallel import beside
from scenemosaic.stores import local_files as files
from scenemosaic.stores.pieces import RunCheck, Seen, in_chunks, whole
from scenemosaic.stores.port import CopyRun, FileSlice, Literal, ObjectInfo, Segment


class Source(Protocol):
    """An object held open, which its name need not point to any more."""

    @property
    def descriptor(self) -> int: ...

    @property
    def status(self) -> os.stat_result: ...

    @property
    def info(self) -> ObjectInfo: ...


Opener = Callable[[str], AbstractContextManager[Source | None]]
Chunk = tuple[Segment, ...]

# Block rows of the tiles beside each other come in turn; far below any limit of open files.
_HELD: Final = 128


class _Sources:
    """Objects opened by key, the last few of them held open; for one thread."""

    def __init__(self, opened: Opener) -> None:
        self._opened = opened
        self._held: OrderedDict[str, tuple[Source | None, ExitStack]] = OrderedDict()

    def get(self, key: str) -> Source | None:
        """The object at ``key``, open until some others were asked for."""
        if key not in self._held:
            if len(self._held) == _HELD:
                self._held.popitem(last=False)[1][1].close()
            stack = ExitStack()
            self._held[key] = stack.enter_context(self._opened(key)), stack
        self._held.move_to_end(key)
        return self._held[key][0]

    def close(self) -> None:
        """Close them all."""
        for _, stack in self._held.values():
            stack.close()


class _Chunks:
    """The chunks of a composition, handed out in order to any number of threads.

    What they read is compared in the same order, whichever of them is done first.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._lock = Lock()
        self._left = enumerate(in_chunks(segments, files.BUFFER_BYTES))
        self._check = RunCheck(segments)
        self._read: dict[int, list[Seen]] = {}
        self._checked = 0

    def take(self) -> tuple[int, Chunk] | None:
        """The next one with its number; None where none is left."""
        with self._lock:
            return next(self._left, None)

    def stop(self) -> None:
        """Hand out no more: another thread's fault ends the whole."""
        with self._lock:
            self._left = enumerate(iter(()))

    def saw(self, number: int, seen: list[Seen]) -> None:
        """Raises IncompleteError where a run that is whole by now has other bytes."""
        with self._lock:
            self._read[number] = seen
            while (ready := self._read.pop(self._checked, None)) is not None:
                self._checked += 1
                self._check.saw(ready)


@dataclass(frozen=True, slots=True)
class _Writing:
    target: int
    chunks: _Chunks
    opened: Opener
    turn: Lock = field(default_factory=Lock)

    def copy(self) -> None:
        """Copy chunks until none is left. A fault of this thread stops the others, too."""
        buffer = memoryview(bytearray(files.BUFFER_BYTES))
        try:
            with closing(_Sources(self.opened)) as sources:
                while (taken := self.chunks.take()) is not None:
                    self._one(*taken, buffer, sources)
        finally:
            self.chunks.stop()

    def _one(self, number: int, chunk: Chunk, buffer: memoryview, sources: _Sources) -> None:
        seen = list(_read(chunk, buffer, sources))
        filled = sum(piece.size_bytes for piece in seen)
        with self.turn:
            files.write_at(self.target, buffer[:filled], number * files.BUFFER_BYTES)
        self.chunks.saw(number, seen)


def write_segments(segments: Sequence[Segment], target: int, opened: Opener) -> int:
    """Write all ``segments`` one behind the other into the empty open file ``target``; its bytes.

    Raises IncompleteError, naming the key, where a source is absent, is another
    version than the pinned one, is too short, holds other bytes than its CRC-32 says, or
    changed while it was copied.
    """
    size_bytes = sum(segment.size_bytes for segment in segments)
    files.reserve(target, size_bytes)
    writing = _Writing(target, _Chunks(segments), opened)
    if size_bytes <= files.BUFFER_BYTES:
        writing.copy()
        return size_bytes
    with beside(writing.copy):
        writing.copy()
    return size_bytes


def _read(chunk: Chunk, buffer: memoryview, sources: _Sources) -> Iterator[Seen]:
    """Read the segments one behind the other into ``buffer``."""
    filled = 0
    for segment in chunk:
        room = buffer[filled : filled + segment.size_bytes]
        filled += segment.size_bytes
        yield _fill(segment, room, sources)


def _fill(segment: Segment, room: memoryview, sources: _Sources) -> Seen:
    match segment:
        case Literal():
            room[:] = segment.data
        case FileSlice():
            _read_file(segment, room)
        case CopyRun():
            with files.naming(f"copying {segment.key}"):
                _read_run(segment, room, sources)
            if segment.crc is not None:
                return Seen(len(room), isal_zlib.crc32(room))
    return Seen(len(room))


def _read_file(piece: FileSlice, room: memoryview) -> None:
    descriptor = os.open(piece.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        whole(piece.path, files.read_into(descriptor, room, piece.offset), len(room))
    finally:
        os.close(descriptor)


def _read_run(run: CopyRun, room: memoryview, sources: _Sources) -> None:
    source = sources.get(run.key)
    if source is None:
        raise IncompleteError(f"{run.key} is absent, and a composed object needs it")
    if source.info.etag != run.etag:
        raise IncompleteError(
            f"{run.key} has the ETag {source.info.etag}, not {run.etag}: it was replaced"
        )
    whole(run.key, files.read_into(source.descriptor, room, run.offset), len(room))
    after = os.fstat(source.descriptor)
    if (after.st_size, after.st_mtime_ns) != (source.status.st_size, source.status.st_mtime_ns):
        raise IncompleteError(f"{run.key} changed while it was copied")
