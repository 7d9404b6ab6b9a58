"""In which order the blocks of a level are stored: row-major where that costs nothing. Pure.

A reader goes through an image row by row, and asks for what lies together with one request.
What tiles give are runs, window after window; each of their block rows can be copied
by itself, where the store does that as cheaply (:class:`Copying`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Final

import numpy as np
import numpy.typing as npt

from scenemosaic.mosaic.pieces import Piece, PieceLevel
from scenemosaic.stores.port import Copying, CopyRun, FileSlice, Segment
from scenemosaic.tiff.layout import Level, Placed, scatter
from scenemosaic.tiff.runs import row_bytes

# Of a level's bytes: what may lie in block rows that are too short to be copied cheaply.
_SHORT_SHARE: Final = 0.1
Lengths = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StoredLevel:
    """A level for the layout, and where its bytes lie, in the order in which they are stored."""

    level: Level
    sources: Sequence[Segment]


def stored_order(level: PieceLevel, copying: Copying) -> StoredLevel:
    """The level in the order that suits its readers and the store's copies."""
    if _is_in_rows(level):
        return _window_major(level, in_rows=True)
    if not _may_be_split(level) or _block_rows(level) > copying.most_runs:
        return _window_major(level)
    lengths = [_lengths(piece) for piece in level.pieces]
    if not (_is_made_here(level) or is_cheap(np.concatenate(lengths), copying)):
        return _window_major(level)
    return _row_major(level, lengths)


def is_cheap(lengths: Lengths, copying: Copying) -> bool:
    """Whether block rows of these lengths in bytes are copied at no more cost than whole runs."""
    short = int(lengths[lengths < copying.least_bytes].sum())
    return lengths.size <= copying.most_runs and short <= _SHORT_SHARE * int(lengths.sum())


def _is_in_rows(level: PieceLevel) -> bool:
    """Whether one run behind the other is row-major already: a single column, or a single row."""
    if len(level.pieces) == 1:
        return True
    is_flat = level.run_size <= level.shape.block_size
    return level.shape.layers == 1 and (level.run_cols == 1 or is_flat)


def _window_major(level: PieceLevel, *, in_rows: bool = False) -> StoredLevel:
    runs = [piece.placed for piece in level.pieces]
    sources = [piece.source for piece in level.pieces if piece.source is not None]
    return StoredLevel(Level(level.shape, runs, in_rows=in_rows), sources)


def _is_made_here(level: PieceLevel) -> bool:
    """Whether no store copies any of it: what this process sends may lie in any order."""
    return not any(isinstance(piece.source, CopyRun) for piece in level.pieces)


def _may_be_split(level: PieceLevel) -> bool:
    """Whether each block row that is copied can be compared by itself."""
    return all(
        piece.row_crcs is not None
        or not isinstance(piece.source, CopyRun)
        or piece.placed.shape.block_rows == 1
        for piece in level.pieces
    )


def _block_rows(level: PieceLevel) -> int:
    return sum(piece.placed.shape.block_rows for piece in level.pieces)


def _lengths(piece: Piece) -> Lengths:
    shape = piece.placed.shape
    return row_bytes(piece.placed.sizes, shape.across, shape.frame_bytes)


def _row_major(level: PieceLevel, lengths: Sequence[Lengths]) -> StoredLevel:
    """One block row of the whole level behind the other: of each plane, then of the mask."""
    shape = level.shape
    sizes = np.zeros(shape.blocks, np.uint32)
    rows: list[list[Segment]] = [[] for _ in range(shape.block_rows)]
    for piece, each in zip(level.pieces, lengths, strict=True):
        placed = piece.placed
        scatter(sizes, placed.sizes, shape, placed)
        for number, source in _parts(piece, each):
            layer, row = divmod(number, placed.shape.down)
            rows[layer * shape.down + placed.block_row + row].append(source)
    whole = Level(shape, [Placed(0, 0, shape, sizes)], in_rows=True)
    return StoredLevel(whole, list(chain.from_iterable(rows)))


def _parts(piece: Piece, lengths: Lengths) -> Iterator[tuple[int, Segment]]:
    """The stored block rows of a run, each with its number in it."""
    source = piece.source
    if source is None:
        return
    starts = accumulate(lengths.tolist(), initial=source.offset)
    for number, (start, length) in enumerate(zip(starts, lengths.tolist(), strict=False)):
        if length:
            yield number, _part(source, piece, number, start, length)


def _part(
    source: CopyRun | FileSlice, piece: Piece, number: int, start: int, length: int
) -> Segment:
    if isinstance(source, FileSlice):
        return FileSlice(source.path, start, length)
    crc = source.crc if piece.row_crcs is None else int(piece.row_crcs[number])
    return source.part(start - source.offset, length, crc)
