"""How much memory a worker needs. Pure; an upper bound, not a measurement."""

from typing import Final

from scenemosaic.recipe import Recipe
from scenemosaic.recipe_rules import ITEM_SIZES

# Python, GDAL and its block cache (128 MB), NumPy, boto3 and Prefect.
PROCESS_BYTES: Final = 400 << 20
# What was read, the level in hand with its sums in wider numbers, and what was encoded.
_COPIES: Final = 4


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
    return _COPIES * window_raw_bytes(recipe) + recipe.worst_tile_bytes()


def process_bytes(recipe: Recipe, threads: int = 1) -> int:
    """What a process of so many threads needs, each with a window in hand."""
    return PROCESS_BYTES + threads * window_bytes(recipe)
