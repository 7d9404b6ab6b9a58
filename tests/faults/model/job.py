"""The smallest job that has everything: four windows with overviews, encoded in two ways."""

import dataclasses
import functools
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from scenemosaic.grids.grid import Window
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import Plan
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.tiff.template import make_template
from scenemosaic.tile import EncodedTile, encode_tile
from tests.mosaic.memory import recipe_for

SIZE = 96
ENCODERS = (6, 1)


@functools.cache
def pixels() -> npt.NDArray[np.uint16]:
    rng = np.random.default_rng(0)
    return np.cumsum(rng.integers(0, 9, (1, SIZE, SIZE)), axis=2).astype(np.uint16)


@functools.cache
def plan() -> Plan:
    recipe = recipe_for(pixels(), 64, block_size=64, nodata=0)
    return Plan((Pin(None, "0" * 64, None, None, 1),), recipe)


@functools.cache
def tiles(level: int) -> Mapping[str, EncodedTile]:
    """Every window's tile by deflate level: the same pixels, other bytes."""
    recipe = dataclasses.replace(plan().recipe, level=level)
    return {
        window.name: encoded(
            pixels()[:, window.y0 : window.y1, window.x0 : window.x1], window, recipe
        )
        for window in recipe.tiling().windows()
    }


def encoded(part: npt.NDArray[np.uint16], window: Window, recipe: Recipe) -> EncodedTile:
    """The tile of a window from its own pixels."""
    template = make_template(recipe, lambda dataset: None)
    return encode_tile(np.ascontiguousarray(part), None, window, recipe, template)


def names() -> list[str]:
    return [window.name for window in plan().recipe.tiling().windows()]


@functools.cache
def by_sha256() -> Mapping[str, EncodedTile]:
    """Every tile that a sound run could have stored."""
    return {tile.sha256: tile for level in ENCODERS for tile in tiles(level).values()}
