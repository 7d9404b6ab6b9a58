"""Bytes of a composed object that pass through this process, in pieces and chunks."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from scenemosaic.errors import IncompleteError
from scenemosaic.stores.port import CopyRun, FileSlice, Literal, Segment
from scenemosaic.stores.s3_parts import cut


def bytes_of(pieces: Sequence[Segment], read_run: Callable[[CopyRun], bytes]) -> bytes:
    """The bytes of ``pieces``. Raises IncompleteError where one of them ends early."""
    return b"".join(_piece(piece, read_run) for piece in pieces)


def _piece(piece: Segment, read_run: Callable[[CopyRun], bytes]) -> bytes:
    match piece:
        case Literal():
            return piece.data
        case FileSlice():
            with Path(piece.path).open("rb") as file:
                file.seek(piece.offset)
                return _whole(piece.path, file.read(piece.size_bytes), piece.size_bytes)
        case CopyRun():
            return _whole(piece.key, read_run(piece), piece.size_bytes)


def _whole(name: str, data: bytes, size_bytes: int) -> bytes:
    if len(data) != size_bytes:
        raise IncompleteError(f"{name} ends early: {len(data)} of {size_bytes} bytes were read")
    return data


def in_chunks(segments: Sequence[Segment], chunk_bytes: int) -> Iterator[tuple[Segment, ...]]:
    """The segments cut into chunks of ``chunk_bytes``; only the last one may be smaller."""
    pieces: list[Segment] = []
    gathered = 0
    for segment in segments:
        done = 0
        while done < segment.size_bytes:
            count = min(chunk_bytes - gathered, segment.size_bytes - done)
            pieces.append(cut(segment, done, count))
            gathered, done = gathered + count, done + count
            if gathered == chunk_bytes:
                yield tuple(pieces)
                pieces, gathered = [], 0
    if pieces:
        yield tuple(pieces)
