"""Bytes of a composed object that pass through this process: in pieces, in chunks, and checked."""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scenemosaic.crc32 import crc32, crc32_combine
from scenemosaic.errors import IncompleteError
from scenemosaic.stores.port import CopyRun, FileSlice, Literal, Segment
from scenemosaic.stores.s3_parts import cut


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of one piece's bytes: how many, and their CRC-32 where somebody made it."""

    size_bytes: int
    crc: int | None = None


@dataclass(frozen=True, slots=True)
class Gathered:
    """The bytes of some pieces, and what each of them was seen to be."""

    data: bytes
    seen: tuple[Seen, ...]


def gather(pieces: Sequence[Segment], read_run: Callable[[CopyRun], bytes]) -> Gathered:
    """The bytes of ``pieces``. Raises IncompleteError where one of them ends early."""
    gathered, seen = io.BytesIO(), list[Seen]()
    if size_bytes := sum(piece.size_bytes for piece in pieces):
        gathered.seek(size_bytes - 1)
        gathered.write(b"\0")  # room for all of them at once
        gathered.seek(0)
    for piece in pieces:
        data = _piece(piece, read_run)
        seen.append(_seen(piece, data))
        gathered.write(data)  # each is let go before the next is read
    return Gathered(gathered.getvalue(), tuple(seen))


def _seen(piece: Segment, data: bytes | memoryview) -> Seen:
    wanted = isinstance(piece, CopyRun) and piece.crc is not None
    return Seen(len(data), crc32(data) if wanted else None)


def _piece(piece: Segment, read_run: Callable[[CopyRun], bytes]) -> bytes | memoryview:
    data: bytes | memoryview
    match piece:
        case Literal():
            return piece.data
        case FileSlice():
            with Path(piece.path).open("rb") as file:
                file.seek(piece.offset)
                data, name = file.read(piece.size_bytes), piece.path
        case CopyRun():
            data, name = read_run(piece) if piece.data is None else piece.data, piece.key
    whole(name, len(data), piece.size_bytes)
    return data


def whole(name: str, read_bytes: int, size_bytes: int) -> None:
    """Raises IncompleteError where fewer bytes could be read than were wanted."""
    if read_bytes != size_bytes:
        raise IncompleteError(f"{name} ends early: {read_bytes} of {size_bytes} bytes were read")


class RunCheck:
    """Compares a composition's bytes, told of in order, with the CRC-32 of each of its runs.

    A run may come in several pieces. One of which no CRC is known leaves the run unchecked:
    then the ETag that pins its source is all the proof there is.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = iter([segment for segment in segments if segment.size_bytes])
        self._segment: Segment = Literal(b"")
        self._so_far = Seen(0, 0)

    def saw(self, pieces: Iterable[Seen]) -> None:
        """Raises IncompleteError, naming the key, where a run that ends here has other bytes."""
        for piece in pieces:
            if piece.size_bytes:
                self._add(piece)

    def _add(self, piece: Seen) -> None:
        if not self._so_far.size_bytes:
            self._segment = next(self._segments)
        self._so_far = _joined(self._so_far, piece)
        if self._so_far.size_bytes == self._segment.size_bytes:
            _check(self._segment, self._so_far.crc)
            self._so_far = Seen(0, 0)


def _joined(first: Seen, second: Seen) -> Seen:
    size_bytes = first.size_bytes + second.size_bytes
    if first.crc is None or second.crc is None:
        return Seen(size_bytes)
    return Seen(size_bytes, crc32_combine(first.crc, second.crc, second.size_bytes))


def _check(segment: Segment, crc: int | None) -> None:
    if not isinstance(segment, CopyRun) or None in (crc, segment.crc) or crc == segment.crc:
        return
    raise IncompleteError(other_bytes(segment))


def other_bytes(run: CopyRun) -> str:
    """That a run's bytes have another CRC-32, for people."""
    where = f"from byte {run.offset} to {run.offset + run.size_bytes}"
    return f"{run.key} holds other bytes than its manifest row says, somewhere {where}"


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
