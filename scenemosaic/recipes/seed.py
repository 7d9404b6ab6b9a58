"""The seed of a tile: one more level than the mosaic takes over, of which its top levels are made.

Assembly needs the pixels of the first level above the tiles' own. From the tiles' smallest
level it would have to decode four times as many, and halve them; and what a lossy codec made
of that level would show in all above it, by where the windows lie. So a tile carries its part
of the next level, in blocks of half the size, by a codec that is exact and quick to decode.
"""

import functools
from dataclasses import replace
from typing import Final

from scenemosaic.recipes.recipe import Recipe
from scenemosaic.recipes.recipe_rules import default_predictor

FIRST_SEEDED: Final = 3
# From here on: a third of what ISA-L takes to decode, and a tenth more bytes of the seed.
_FIRST_BY_ZSTD: Final = 4
_QUICK: Final = frozenset({"deflate", "zstd", "none"})


@functools.lru_cache(maxsize=64)
def seed_recipe(recipe: Recipe) -> Recipe | None:
    """How a recipe's seeds are encoded, or None where its tiles have none.

    That is in jobs of ``encoding_version`` 1 and 2, where no level lies above the tiles'
    own, and where half a block would be no multiple of 16 pixels.
    """
    tiling = recipe.tiling()
    above = tiling.last_level > tiling.tile_levels
    if recipe.encoding_version < FIRST_SEEDED or not above or recipe.block_size % 32:
        return None
    return exact_recipe(recipe, recipe.block_size // 2)


def exact_recipe(recipe: Recipe, block_size: int) -> Recipe:
    """The same pixels in blocks of another size, exactly, and quick to encode and decode."""
    compress, predictor = _quickest(recipe)
    return replace(
        recipe,
        block_size=block_size,
        compress=compress,
        level=None,
        predictor=predictor,
        nbits=None,
        photometric=None,
        effort="fast" if compress != "none" else "balanced",
    )


def _quickest(recipe: Recipe) -> tuple[str, int]:
    """Codec and predictor. Differences of floats' bits are undone in a fifth of the time of 3."""
    if recipe.encoding_version < _FIRST_BY_ZSTD:
        compress = recipe.compress if recipe.compress in _QUICK else "deflate"
        return compress, default_predictor(compress, recipe.dtype)
    compress = recipe.compress if recipe.compress == "none" else "zstd"
    return compress, min(default_predictor(compress, recipe.dtype), 2)


def tile_recipes(recipe: Recipe) -> tuple[Recipe, ...]:
    """How each of a tile's levels is encoded: the levels 0..K, and the seed where there is one."""
    seed = seed_recipe(recipe)
    own = (recipe,) * _own_levels(recipe)
    return own if seed is None else (*own, seed)


@functools.lru_cache(maxsize=64)
def _own_levels(recipe: Recipe) -> int:
    """How many levels of a tile the mosaic takes over; asked for each of its windows."""
    return recipe.tiling().tile_levels + 1
