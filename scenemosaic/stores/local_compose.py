"""Writing a composed object's segments one behind the other into an open local file."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from scenemosaic.errors import IncompleteError
from scenemosaic.stores import local_files as files
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


def write_segments(segments: Sequence[Segment], target: int, opened: Opener) -> int:
    """Append all ``segments`` to the open file ``target``; the bytes written.

    Raises IncompleteError, naming the key, where a source is absent, is another
    version than the pinned one, is too short, or changed while it was copied.
    """
    size_bytes = 0
    for segment in segments:
        match segment:
            case Literal():
                files.write_all(target, segment.data)
            case FileSlice():
                _copy_file(segment, target)
            case CopyRun():
                _copy_run(segment, target, opened)
        size_bytes += segment.size_bytes
    return size_bytes


def _copy_file(piece: FileSlice, target: int) -> None:
    descriptor = os.open(piece.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        copied = files.copy_range(descriptor, piece.offset, piece.size_bytes, target)
    finally:
        os.close(descriptor)
    _check_length(piece.path, copied, piece.size_bytes)


def _copy_run(run: CopyRun, target: int, opened: Opener) -> None:
    with opened(run.key) as source:
        if source is None:
            raise IncompleteError(f"{run.key} is absent, and a composed object needs it")
        if source.info.etag != run.etag:
            raise IncompleteError(
                f"{run.key} has the ETag {source.info.etag}, not {run.etag}: it was replaced"
            )
        copied = files.copy_range(source.descriptor, run.offset, run.size_bytes, target)
        _check_length(run.key, copied, run.size_bytes)
        after = os.fstat(source.descriptor)
        if (after.st_size, after.st_mtime_ns) != (source.status.st_size, source.status.st_mtime_ns):
            raise IncompleteError(f"{run.key} changed while it was copied")


def _check_length(name: str, copied: int, wanted: int) -> None:
    if copied != wanted:
        raise IncompleteError(f"{name} ends early: {copied} of {wanted} bytes could be copied")
