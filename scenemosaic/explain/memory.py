"""How much memory a worker needs. Pure; an upper bound, not a measurement."""

from typing import Final

from scenemosaic.dtypes import ITEM_SIZES
from scenemosaic.mosaic.top_boxes import box_levels, largest_bytes
from scenemosaic.recipes.recipe import Recipe

# Python, Prefect, boto3, NumPy and GDAL, with what it keeps of a source: 165 MB were measured.
PROCESS_BYTES: Final = 250 << 20
# What was read, the level in hand with its sums in wider numbers, and what was encoded: with
# the tile itself this is 7.5 times the window; 6.6 to 6.8 were measured.
_COPIES: Final = 6
# The level of the seeds, those above it, what GDAL holds of one, the runs, and the object.
_BOX_COPIES: Final = 5
# Of several sources two are in hand, or one is warped. Not measured.
_MERGED: Final = 2


def window_raw_bytes(recipe: Recipe) -> int:
    """The pixels of one full window, its mask among them."""
    tiling = recipe.tiling()
    pixels = min(tiling.window_size, tiling.width) * min(tiling.window_size, tiling.height)
    return pixels * pixel_bytes(recipe)


def pixel_bytes(recipe: Recipe) -> int:
    """The bytes of one pixel of all bands, its mask among them."""
    return ITEM_SIZES[recipe.dtype] * recipe.bands + recipe.has_mask


def window_bytes(recipe: Recipe) -> int:
    """What one window takes while it is made, beside its process."""
    copies = _COPIES if recipe.merge is None else _COPIES * _MERGED
    return copies * window_raw_bytes(recipe) + recipe.worst_tile_bytes()


def box_bytes(recipe: Recipe) -> int:
    """What a top box takes while it is made; 0 where the mosaic has none."""
    levels = box_levels(recipe)
    return 0 if levels is None else _BOX_COPIES * largest_bytes(recipe, levels)


def process_bytes(recipe: Recipe, threads: int = 1) -> int:
    """What a process of so many threads needs, each with a window or a top box in hand."""
    return PROCESS_BYTES + threads * max(window_bytes(recipe), box_bytes(recipe))
