"""One window's pixels become one tile: a valid COG whose runs a mosaic can take over."""

import functools
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scenemosaic.crc32 import crc32
from scenemosaic.grids.grid import Window, ceil_div
from scenemosaic.levels import Kernel, pyramid
from scenemosaic.recipes.recipe import FIRST_ENCODING, Recipe
from scenemosaic.recipes.seed import tile_recipes
from scenemosaic.tiff import codec, deflate, gdal_codec
from scenemosaic.tiff.layout import Level, LevelShape, Placed, Template, plan_file
from scenemosaic.tiff.runs import Packed, Run, Sizes, join, pack
from scenemosaic.tiff.template import alpha_band, creation

Pixels = npt.NDArray[Any]
Mask = npt.NDArray[np.uint8]
_FIRST_ZSTD_LEVEL = 9
# A manifest row has 64 KB for all its columns, and can do without the checksums of block rows.
_ROOM_BYTES = 48 << 10


@dataclass(frozen=True, slots=True)
class EncodedTile:
    """A tile's bytes with what its manifest row says of them, level 0 first.

    ``row_crcs``: the CRC-32 of each block row of each level. ``deflaters`` made its blocks, where
    these are deflate (:mod:`scenemosaic.tiff.deflate`).
    """

    data: bytes
    sha256: str
    sizes: tuple[Sizes, ...]
    crc: tuple[int, ...]
    row_crcs: tuple[int, ...]
    header_bytes: int
    deflaters: tuple[str, ...] = ()

    @property
    def blocks(self) -> bytes:
        """The ``blocks`` of its manifest row."""
        header_crc = crc32(self.data[: self.header_bytes])
        packed = pack(Packed(self.sizes, header_crc, np.array(self.row_crcs, np.uint32)))
        if len(packed) <= _ROOM_BYTES:
            return packed
        return pack(Packed(self.sizes, header_crc))


def encode_tile(
    pixels: Pixels,
    mask: Mask | None,
    window: Window,
    recipe: Recipe,
    template: Template,
    box: Window | None = None,
) -> EncodedTile:
    """The tile of ``window`` from pixels (bands, height, width) and a mask (height, width).

    They are those of ``box``, see :func:`read_box`; left out, of the window alone.
    """
    kernel = kernel_of(recipe, template)
    recipes, shapes = tile_recipes(recipe), window_shapes(window, recipe)
    images = pyramid(pixels, mask, kernel, len(recipes) - 1)
    choice = deflate.FirstChoice()
    if box is not None and box != window:
        images = [
            _cut(image, window, box, level, shape)
            for level, (image, shape) in enumerate(zip(images, shapes, strict=True))
        ]
    runs = [encode_run(*image, coded, choice) for image, coded in zip(images, recipes, strict=True)]
    levels = [
        whole_level(shape, run.sizes, is_seed=coded is not recipe)
        for shape, run, coded in zip(shapes, runs, recipes, strict=True)
    ]
    layout = plan_file(template, levels, shift=(window.x0, window.y0))
    pieces = [piece for run in reversed(runs) for piece in run.pieces]
    data = b"".join([layout.header, *pieces])
    return EncodedTile(
        data,
        hashlib.sha256(data).hexdigest(),
        tuple(run.sizes for run in runs),
        tuple(run.crc for run in runs),
        tuple(crc for run in runs for crc in run.row_crcs),
        len(layout.header),
        choice.names,
    )


def read_box(window: Window, recipe: Recipe) -> Window:
    """What has to be read for a window's tile: more than itself where the kernel reaches further.

    Each level is made of pixels around those that are kept, so that no seam differs.
    """
    tiling, levels = recipe.tiling(), len(tile_recipes(recipe)) - 1
    return window.widened(kernel_of(recipe, None).margin(levels), tiling.height, tiling.width)


def kernel_of(recipe: Recipe, template: Template | None) -> Kernel:
    """How a recipe's levels are made; the template knows which band is alpha."""
    alpha = alpha_band(template) if template is not None else None
    most = None if recipe.nbits is None else 2**recipe.nbits - 1
    return Kernel(recipe.resampling, recipe.nodata, alpha, most)


def _cut(
    image: tuple[Pixels, Mask | None], window: Window, box: Window, level: int, shape: LevelShape
) -> tuple[Pixels, Mask | None]:
    pixels, mask = image
    y, x = (window.y0 - box.y0) >> level, (window.x0 - box.x0) >> level
    inside = np.s_[y : y + shape.height, x : x + shape.width]
    return pixels[:, *inside], None if mask is None else mask[inside]


def encode_run(pixels: Pixels, mask: Mask | None, recipe: Recipe, choice: deflate.Choice) -> Run:
    """The encoded blocks of one level: the image's, then the mask's.

    ``choice`` decides on deflate (:mod:`scenemosaic.tiff.deflate`).
    """
    blocks: list[bytes | None]
    if recipe.nbits is None and codec.is_made_here(recipe.compress, recipe.dtype):
        blocks = codec.encode_blocks(pixels, block_coding(recipe), choice)
    else:
        blocks = gdal_codec.encode_blocks(pixels, recipe.block_size, creation(recipe))
    if mask is not None:
        blocks += codec.encode_mask(mask, recipe.block_size)
    return join(blocks, recipe.frame_bytes, ceil_div(pixels.shape[2], recipe.block_size))


def block_coding(recipe: Recipe) -> codec.BlockCoding:
    """How a recipe's blocks are encoded, for the codecs that are made here."""
    return codec.BlockCoding(
        block_size=recipe.block_size,
        compress=recipe.compress,
        level=_level(recipe),
        predictor=recipe.predictor,
        interleave=recipe.interleave,
        fill=0 if recipe.nodata is None else recipe.nodata,
        effort=recipe.effort,
    )


def _level(recipe: Recipe) -> int | None:
    """The level asked for. Earlier jobs go on as they began: zstd was 9 without one."""
    earlier = recipe.encoding_version == FIRST_ENCODING and recipe.compress == "zstd"
    if recipe.level is None and earlier and recipe.effort == "balanced":
        return _FIRST_ZSTD_LEVEL
    return recipe.level


def window_shapes(window: Window, recipe: Recipe) -> list[LevelShape]:
    """The shapes of all levels of a window's tile, its seed among them."""
    return [
        level_shape(coded, ceil_div(window.height, 1 << level), ceil_div(window.width, 1 << level))
        for level, coded in enumerate(tile_recipes(recipe))
    ]


def level_shape(recipe: Recipe, height: int, width: int) -> LevelShape:
    """The shape of an image of ``height`` x ``width`` pixels under a recipe."""
    planes = 1 if recipe.interleave == "pixel" else recipe.bands
    return _shape(width, height, recipe.block_size, planes, recipe.has_mask, recipe.frame_bytes)


# Nearly all windows have the same shapes, and assembly keeps those of all.
_shape = functools.lru_cache(maxsize=1024)(LevelShape)


def whole_level(shape: LevelShape, sizes: Sizes, *, is_seed: bool = False) -> Level:
    """A level made of a single run."""
    return Level(shape, [Placed(0, 0, shape, sizes)], is_seed)
