"""A level of the mosaic as runs, each with the place where its bytes lie."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import rasterio
from rasterio.io import MemoryFile
from rasterio.session import DummySession

from scenemosaic.crc32 import crc32
from scenemosaic.grids.grid import ceil_div
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.stores.port import CopyRun, FileSlice, Segment
from scenemosaic.tiff import decode
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.layout import Level, LevelShape, Placed, Template, plan_file
from scenemosaic.tiff.runs import Crcs
from scenemosaic.tile import block_coding, level_shape

Pixels = npt.NDArray[Any]
Mask = npt.NDArray[np.uint8]
Fetch = Callable[[Segment], bytes]


@dataclass(frozen=True, slots=True)
class Piece:
    """One run of a level: where it belongs, where its bytes lie (None if sparse), what they are.

    ``digest`` names the bytes: that of the whole tile with the level, or of the run itself.
    ``row_crcs`` are those of its block rows, None where they are not known.
    """

    placed: Placed
    source: CopyRun | FileSlice | None
    crc: int
    digest: str
    row_crcs: Crcs | None = None


@dataclass(frozen=True, slots=True)
class PieceLevel:
    """A level of the mosaic.

    Its runs lie on a grid of ``run_size`` x ``run_size`` pixels of this level,
    ``pieces`` being row-major over that grid; ``recipe`` is how they are encoded.
    """

    shape: LevelShape
    run_size: int
    pieces: Sequence[Piece]
    recipe: Recipe

    @property
    def run_rows(self) -> int:
        return ceil_div(self.shape.height, self.run_size)

    @property
    def run_cols(self) -> int:
        return ceil_div(self.shape.width, self.run_size)


def read_pieces(
    level: PieceLevel, rows: range, cols: range, template: Template, fetch: Fetch
) -> tuple[Pixels, Mask | None]:
    """Pixels (bands, height, width) and mask of a box of runs.

    Raises BadTiff where bytes are not those of their row, or do not decode.
    """
    recipe = level.recipe
    height = min(rows.stop * level.run_size, level.shape.height) - rows.start * level.run_size
    width = min(cols.stop * level.run_size, level.shape.width) - cols.start * level.run_size
    pieces = [level.pieces[row * level.run_cols + col] for row in rows for col in cols]
    origin = pieces[0].placed.block_row, pieces[0].placed.block_col
    moved = [_moved(piece, origin) for piece in pieces]
    if recipe.compress in decode.DIRECT and recipe.nbits is None:
        return _decoded(moved, height, width, recipe, fetch)
    boxed = Level(level_shape(recipe, height, width), [piece.placed for piece in moved])
    layout = plan_file(template, [boxed], shift=(0, 0))
    return _by_gdal(b"".join([layout.header, *(checked_bytes(p, fetch) for p in moved)]), recipe)


def _moved(piece: Piece, origin: tuple[int, int]) -> Piece:
    placed = piece.placed
    row, col = placed.block_row - origin[0], placed.block_col - origin[1]
    return replace(piece, placed=replace(placed, block_row=row, block_col=col))


def _decoded(
    pieces: Sequence[Piece], height: int, width: int, recipe: Recipe, fetch: Fetch
) -> tuple[Pixels, Mask | None]:
    pixels: Pixels = np.empty((recipe.bands, height, width), recipe.dtype)
    mask = np.empty((height, width), np.uint8) if recipe.has_mask else None
    for piece in pieces:
        placed, data = piece.placed, checked_bytes(piece, fetch)
        y, x = placed.block_row * recipe.block_size, placed.block_col * recipe.block_size
        box = np.s_[y : y + placed.shape.height, x : x + placed.shape.width]
        target, bits = pixels[:, *box], None if mask is None else mask[box]
        decode.decode_run(data, placed.sizes, placed.shape, block_coding(recipe), target, bits)
    return pixels, mask


def checked_bytes(piece: Piece, fetch: Fetch) -> bytes:
    """The bytes of a run, compared with the CRC-32 that its row holds."""
    if piece.source is None:
        return b""
    data = fetch(piece.source)
    if crc32(data) != piece.crc or len(data) != piece.source.size_bytes:
        raise BadTiff(f"{_name(piece.source)} holds other bytes than its manifest row says")
    return data


def _name(source: Segment) -> str:
    return source.key if isinstance(source, CopyRun) else "a scratch file"


def _by_gdal(data: bytes, recipe: Recipe) -> tuple[Pixels, Mask | None]:
    """The image of a whole file: whatever codec made its blocks, GDAL reads them."""
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
