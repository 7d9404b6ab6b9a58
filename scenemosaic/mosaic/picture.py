"""A mosaic's preview, drawn from one of its small levels."""

from collections.abc import Callable

import numpy as np

from scenemosaic.grids.grid import Tiling
from scenemosaic.mosaic.pieces import Mask, Pixels
from scenemosaic.mosaic.preview import MAX_SIDE_PX, preview_png
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.tiff.layout import Template

# The pixels of a whole level of the tiles' own, and their mask.
Read = Callable[[int], tuple[Pixels, Mask | None]]


def shown_level(tiling: Tiling) -> int:
    """The largest level that fits a preview, or the smallest that there is."""
    levels = range(tiling.last_level + 1)
    fitting = (level for level in levels if max(tiling.size_at(level)) <= MAX_SIDE_PX)
    return next(fitting, tiling.last_level)


class Picture:
    """The preview of a mosaic, of a level that is either read, or put together of its boxes.

    It is drawn when it is asked for: beside the copying it would only be in the way.
    """

    def __init__(self, recipe: Recipe, template: Template, read: Read) -> None:
        self._recipe, self._template, self._read = recipe, template, read
        tiling = recipe.tiling()
        self._level = shown_level(tiling)
        self._is_read = self._level <= tiling.tile_levels
        height, width = (0, 0) if self._is_read else tiling.size_at(self._level)
        self._pixels: Pixels = np.empty((recipe.bands, height, width), recipe.dtype)
        self._mask = np.empty((height, width), np.uint8) if recipe.has_mask else None
        self._missing = height * width

    def see(self, level: int, y: int, x: int, pixels: Pixels, mask: Mask | None) -> None:
        """Keep a box of ``level``, its corner at (y, x), where it is of the level that is shown."""
        if level != self._level:
            return
        box = np.s_[y : y + pixels.shape[1], x : x + pixels.shape[2]]
        self._pixels[:, *box] = pixels
        if self._mask is not None and mask is not None:
            self._mask[box] = mask
        self._missing -= pixels[0].size

    def png(self) -> bytes:
        """The PNG. Raises what reading the level raises."""
        if self._missing:
            raise RuntimeError(f"level {self._level} was never shown whole")
        image = self._read(self._level) if self._is_read else (self._pixels, self._mask)
        return preview_png(*image, self._recipe.nodata, self._template)
