"""Writing a composed object's segments into an open local file, by two threads side by side.

Each takes the next chunk of the file, reads what belongs there and computes its CRC-32, and
writes it. The kernel lets one thread write to a file at a time, so one reads while the other
writes; two that merely wait for the kernel would spin.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock

from scenemosaic.crc32 import crc32
from scenemosaic.machine.parallel import beside
from scenemosaic.stores import local_files as files
from scenemosaic.stores.local_sources import Opener, Sources, sources
from scenemosaic.stores.pieces import RunCheck, Seen, in_chunks, whole
from scenemosaic.stores.port import CopyRun, FileSlice, Literal, Segment

Chunk = tuple[Segment, ...]


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
    sources: Sources
    turn: Lock = field(default_factory=Lock)

    def copy(self) -> None:
        """Copy chunks until none is left. A fault of this thread stops the others, too."""
        buffer = memoryview(bytearray(files.BUFFER_BYTES))
        try:
            while (taken := self.chunks.take()) is not None:
                self._one(*taken, buffer)
        finally:
            self.chunks.stop()

    def _one(self, number: int, chunk: Chunk, buffer: memoryview) -> None:
        seen = list(_read(chunk, buffer, self.sources))
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
    with sources(opened) as held_open:
        writing = _Writing(target, _Chunks(segments), held_open)
        if size_bytes <= files.BUFFER_BYTES:
            writing.copy()
        else:
            with beside(writing.copy):
                writing.copy()
    return size_bytes


def _read(chunk: Chunk, buffer: memoryview, held_open: Sources) -> Iterator[Seen]:
    """Read the segments one behind the other into ``buffer``."""
    filled = 0
    for segment in chunk:
        room = buffer[filled : filled + segment.size_bytes]
        filled += segment.size_bytes
        yield _fill(segment, room, held_open)


def _fill(segment: Segment, room: memoryview, held_open: Sources) -> Seen:
    match segment:
        case Literal():
            room[:] = segment.data
        case FileSlice():
            _read_file(segment, room)
        case CopyRun():
            held_open.read(segment, room)
            if segment.crc is not None:
                return Seen(len(room), crc32(room))
    return Seen(len(room))


def _read_file(piece: FileSlice, room: memoryview) -> None:
    descriptor = os.open(piece.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        whole(piece.path, files.read_into(descriptor, room, piece.offset), len(room))
    finally:
        os.close(descriptor)
