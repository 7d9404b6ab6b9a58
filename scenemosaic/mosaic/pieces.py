"""A level of the mosaic as runs, each with the place where its bytes lie."""

import io
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import rasterio
from rasterio.io import MemoryFile
from rasterio.session import DummySession

from scenemosaic.grid import ceil_div
from scenemosaic.recipe import Recipe
from scenemosaic.stores.port import CopyRun, FileSlice, Segment
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.layout import Level, LevelShape, Placed, Template, plan_file
from scenemosaic.tiff.runs import Run, run_bytes
from scenemosaic.tile import level_shape

Pixels = npt.NDArray[Any]
Mask = npt.NDArray[np.uint8]
Fetch = Callable[[Segment], bytes]


@dataclass(frozen=True, slots=True)
class Piece:
    """One run of a level: where it belongs, where its bytes lie (None if sparse), what they are.

    ``digest`` names the bytes: that of the whole tile with the level, or of the run itself.
    """

    placed: Placed
    source: CopyRun | FileSlice | None
    crc: int
    digest: str


@dataclass(frozen=True, slots=True)
class PieceLevel:
    """A level of the mosaic.

    Its runs lie on a grid of ``run_size`` x ``run_size`` pixels of this level,
    ``pieces`` being row-major over that grid.
    """

    shape: LevelShape
    run_size: int
    pieces: Sequence[Piece]

    @property
    def run_rows(self) -> int:
        return ceil_div(self.shape.height, self.run_size)

    @property
    def run_cols(self) -> int:
        return ceil_div(self.shape.width, self.run_size)

    def as_level(self) -> Level:
        """For the layout."""
        return Level(self.shape, [piece.placed for piece in self.pieces])

    def sources(self) -> Iterator[Segment]:
        """Where the bytes of this level lie, in the order in which they are stored."""
        return (piece.source for piece in self.pieces if piece.source is not None)


def read_pieces(
    level: PieceLevel, rows: range, cols: range, recipe: Recipe, template: Template, fetch: Fetch
) -> tuple[Pixels, Mask | None]:
    """Pixels (bands, height, width) and mask of a box of runs, decoded by GDAL.

    The box is written as a TIFF of its own around the fetched bytes: whatever
    codec made the blocks, GDAL reads them. Raises BadTiff where bytes are not
    those of their row.
    """
    pieces = [level.pieces[row * level.run_cols + col] for row in rows for col in cols]
    height = min(rows.stop * level.run_size, level.shape.height) - rows.start * level.run_size
    width = min(cols.stop * level.run_size, level.shape.width) - cols.start * level.run_size
    blocks = level.run_size // recipe.block_size
    placed = [
        Placed(
            piece.placed.block_row - rows.start * blocks,
            piece.placed.block_col - cols.start * blocks,
            piece.placed.shape,
            piece.placed.sizes,
        )
        for piece in pieces
    ]
    boxed = Level(level_shape(recipe, height, width), placed)
    layout = plan_file(template, [boxed], shift=(0, 0))
    data = b"".join([layout.header, *(checked_bytes(piece, fetch) for piece in pieces)])
    return _decode(data, recipe)


def checked_bytes(piece: Piece, fetch: Fetch) -> bytes:
    """The bytes of a run, compared with the CRC-32 that its row holds."""
    if piece.source is None:
        return b""
    data = fetch(piece.source)
    if zlib.crc32(data) != piece.crc or len(data) != piece.source.size_bytes:
        raise BadTiff(f"{_name(piece.source)} holds other bytes than its manifest row says")
    return data


def _name(source: Segment) -> str:
    return source.key if isinstance(source, CopyRun) else "a scratch file"


def _decode(data: bytes, recipe: Recipe) -> tuple[Pixels, Mask | None]:
    try:
        # Without a session of its own an Env would look for AWS credentials each time.
        with (
            rasterio.Env(session=DummySession()),
            MemoryFile(data) as memory,
            memory.open(driver="GTiff") as dataset,
        ):
            mask = dataset.read_masks(1) if recipe.has_mask else None
            return dataset.read(), mask
    except rasterio.errors.RasterioError as error:
        raise BadTiff(f"the blocks of a level cannot be decoded: {error}") from error


@dataclass(slots=True)
class Scratch:
    """A local file that takes encoded runs of the top levels until the mosaic is composed."""

    file: IO[bytes]
    path: str
    _end: int = field(default=0)

    def add(self, run: Run) -> FileSlice | None:
        """Append a run; None where all its blocks are sparse."""
        size = run_bytes(run.sizes)
        if not size:
            return None
        self.file.seek(0, io.SEEK_END)
        self.file.writelines(run.pieces)
        self.file.flush()
        start, self._end = self._end, self._end + size
        return FileSlice(self.path, start, size)

    def read(self, part: FileSlice) -> bytes:
        """The bytes of a run that was added; from any thread."""
        return os.pread(self.file.fileno(), part.size_bytes, part.offset)
