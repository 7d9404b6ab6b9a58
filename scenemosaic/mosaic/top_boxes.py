"""Which top boxes a mosaic has, and what each is made of. Pure.

A top box holds the first levels above the tiles' own of some windows on a side. It is a leaf of
assembly's tree (:mod:`scenemosaic.mosaic.top`), in a mosaic that is worth tasks of their own.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from scenemosaic import keys
from scenemosaic.canonical import encode
from scenemosaic.dtypes import ITEM_SIZES
from scenemosaic.grids.grid import ceil_div
from scenemosaic.machine.software import software_versions
from scenemosaic.mosaic.picture import shown_level
from scenemosaic.mosaic.stitch import StoredTile
from scenemosaic.mosaic.top import Box
from scenemosaic.plans.plan import Plan
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.recipes.recipe_rules import REACH_PX
from scenemosaic.recipes.seed import exact_recipe, seed_recipe
from scenemosaic.tiff.layout import LevelShape
from scenemosaic.tile import level_shape

# Below, assembly makes them in less time than tasks take to be recorded.
FROM_WINDOWS: Final = 4096
# Pixels of a box's largest level: its run is long enough then to be copied inside a store.
BOX_BYTES: Final = 24 << 20
MOST_LEVELS: Final = 5
_FORMAT: Final = 1


def box_levels(recipe: Recipe) -> int | None:
    """How many levels a box makes, of 2**levels windows on a side; None where there are none.

    That is in a small mosaic, where a kernel reaches beyond a window, where tiles carry no
    seeds, and where nothing lies above the boxes.
    """
    tiling = recipe.tiling()
    most = min(MOST_LEVELS, tiling.last_level - tiling.tile_levels - 1)
    if len(tiling) < FROM_WINDOWS or recipe.resampling in REACH_PX:
        return None
    if most < 1 or seed_recipe(recipe) is None:
        return None
    few = (levels for levels in range(2, most + 1) if largest_bytes(recipe, levels) <= BOX_BYTES)
    return max(few, default=1)


def largest_bytes(recipe: Recipe, levels: int) -> int:
    """The pixels of the largest level of a whole box of ``levels``, their mask among them."""
    side = recipe.window_size << levels >> (recipe.tiling().tile_levels + 1)
    return side * side * (ITEM_SIZES[recipe.dtype] * recipe.bands + recipe.has_mask)


def top_boxes(recipe: Recipe) -> tuple[Box, ...]:
    """All boxes of a mosaic, row-major; empty where it has none."""
    levels, tiling = box_levels(recipe), recipe.tiling()
    if levels is None:
        return ()
    rows, cols = (ceil_div(count, 1 << levels) for count in (tiling.rows, tiling.cols))
    return tuple(Box(levels, row, col) for row in range(rows) for col in range(cols))


def numbers_of(recipe: Recipe, box: Box) -> list[int]:
    """The numbers of the windows that a box is made of, row-major."""
    tiling, side = recipe.tiling(), 1 << box.up
    rows, cols = (
        range(at * side, min((at + 1) * side, count))
        for at, count in ((box.row, tiling.rows), (box.col, tiling.cols))
    )
    return [row * tiling.cols + col for row in rows for col in cols]


def size_below(recipe: Recipe, box: Box, level: int) -> tuple[int, int]:
    """Height and width in pixels of a box's part of a level, of its own or the tiles'."""
    side = recipe.window_size << box.up >> level
    height, width = recipe.tiling().size_at(level)
    return min(side, height - box.row * side), min(side, width - box.col * side)


def shapes_of(recipe: Recipe, box: Box) -> dict[int, LevelShape]:
    """The shape of a box's run of each level that it makes, the largest level first."""
    first = recipe.tiling().tile_levels + 1
    levels = range(first, first + box.up)
    return {level: level_shape(recipe, *size_below(recipe, box, level)) for level in levels}


def exact_levels(recipe: Recipe, box: Box) -> list[int]:
    """The levels of which assembly needs the very pixels: the last, and one for the preview."""
    first, shown = recipe.tiling().tile_levels + 1, shown_level(recipe.tiling())
    last = first + box.up - 1
    return [shown, last] if first <= shown < last else [last]


def exact_coding(recipe: Recipe) -> Recipe:
    """How those are encoded."""
    return exact_recipe(recipe, recipe.block_size)


def box_key(plan: Plan, box: Box, tiles: Sequence[StoredTile]) -> str:
    """The key of a box of these tiles: all that decides its bytes decides it, too."""
    rows = [tile.row.sha256 for tile in tiles]
    made_of = [_FORMAT, box.up, dict(software_versions()), rows]
    digest = hashlib.sha256(encode(made_of)).hexdigest()[:32]
    return keys.top_box_key(plan.job_id, box.row, box.col, digest)
