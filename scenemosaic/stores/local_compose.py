"""Writing a composed object's segments one behind the other into an open local file."""

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from itertools import accumulate
from typing import Final, Protocol

from scenemosaic.errors import IncompleteError
from scenemosaic.stores import local_files as files
from scenemosaic.stores.local_pipe import Pipe, pipe_into
from scenemosaic.stores.pieces import other_bytes
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

# Block rows of the tiles beside each other come in turn; far below any limit of open files.
_HELD: Final = 128


class _Sources:
    """Objects opened by key, the last few of them held open."""

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


def write_segments(segments: Sequence[Segment], target: int, opened: Opener) -> int:
    """Write all ``segments`` one behind the other into the empty open file ``target``; its bytes.

    Raises IncompleteError, naming the key, where a source is absent, is another
    version than the pinned one, is too short, or changed while it was copied.
    """
    *starts, end = accumulate((segment.size_bytes for segment in segments), initial=0)
    files.reserve(target, end)
    with closing(_Sources(opened)) as sources, pipe_into(target) as pipe:
        for segment, start in zip(segments, starts, strict=True):
            _write(segment, start, target, sources, pipe)
    return end


def _write(segment: Segment, position: int, target: int, sources: _Sources, pipe: Pipe) -> None:
    match segment:
        case Literal():
            files.write_at(target, segment.data, position)
        case FileSlice():
            _copy_file(segment, position, pipe)
        case CopyRun():
            with files.naming(f"copying {segment.key}"):
                _copy_run(segment, target, position, sources, pipe)


def _copy_file(piece: FileSlice, position: int, pipe: Pipe) -> None:
    descriptor = os.open(piece.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        copied, _ = pipe.copy(descriptor, piece.offset, piece.size_bytes, position)
    finally:
        os.close(descriptor)
    _check_length(piece.path, copied, piece.size_bytes)


def _copy_run(run: CopyRun, target: int, position: int, sources: _Sources, pipe: Pipe) -> None:
    source = sources.get(run.key)
    if source is None:
        raise IncompleteError(f"{run.key} is absent, and a composed object needs it")
    if source.info.etag != run.etag:
        raise IncompleteError(
            f"{run.key} has the ETag {source.info.etag}, not {run.etag}: it was replaced"
        )
    _copy_bytes(run, source.descriptor, target, position, pipe)
    after = os.fstat(source.descriptor)
    if (after.st_size, after.st_mtime_ns) != (source.status.st_size, source.status.st_mtime_ns):
        raise IncompleteError(f"{run.key} changed while it was copied")


def _copy_bytes(run: CopyRun, source: int, target: int, position: int, pipe: Pipe) -> None:
    if run.crc is None:
        copied = files.copy_range(source, run.offset, run.size_bytes, target, position)
        _check_length(run.key, copied, run.size_bytes)
        return
    copied, crc = pipe.copy(source, run.offset, run.size_bytes, position)
    _check_length(run.key, copied, run.size_bytes)
    if crc != run.crc:
        raise IncompleteError(other_bytes(run))


def _check_length(name: str, copied: int, wanted: int) -> None:
    if copied != wanted:
        raise IncompleteError(f"{name} ends early: {copied} of {wanted} bytes could be copied")
