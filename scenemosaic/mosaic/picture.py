"""A mosaic's preview, drawn from one of its small levels while the rest is still made."""

from collections.abc import Callable
from concurrent.futures import Executor, Future

import numpy as np

from scenemosaic.grid import Tiling
from scenemosaic.mosaic.pieces import Mask, Pixels
from scenemosaic.publishing.preview import MAX_SIDE_PX, preview_png
from scenemosaic.recipe import Recipe
from scenemosaic.tiff.layout import Template


def shown_level(tiling: Tiling) -> int:
    """The largest level that fits a preview, or the smallest that there is."""
    levels = range(tiling.last_level + 1)
    fitting = (level for level in levels if max(tiling.size_at(level)) <= MAX_SIDE_PX)
    return next(fitting, tiling.last_level)


class Picture:
    """The preview of a mosaic; it is drawn by ``executor`` once its level is there.

    The level is either read whole, or put together from the boxes of it that are seen.
    """

    def __init__(self, recipe: Recipe, template: Template, executor: Executor) -> None:
        self._recipe, self._template, self._executor = recipe, template, executor
        self._png: Future[bytes] | None = None
        tiling = recipe.tiling()
        self._level = shown_level(tiling)
        height, width = tiling.size_at(self._level)
        self._pixels: Pixels = np.empty((recipe.bands, height, width), recipe.dtype)
        self._mask = np.empty((height, width), np.uint8) if recipe.has_mask else None
        self._missing = height * width

    def read(self, whole: Callable[[], tuple[Pixels, Mask | None]]) -> None:
        """Draw what ``whole`` reads: all pixels of the level, and their mask."""
        self._png = self._executor.submit(lambda: self._draw(*whole()))

    def see(self, level: int, y: int, x: int, pixels: Pixels, mask: Mask | None) -> None:
        """Keep a box of ``level``, its corner at (y, x), where it is of the level that is shown."""
        if level != self._level:
            return
        box = np.s_[y : y + pixels.shape[1], x : x + pixels.shape[2]]
        self._pixels[:, *box] = pixels
        if self._mask is not None and mask is not None:
            self._mask[box] = mask
        self._missing -= pixels[0].size
        if not self._missing:
            self._png = self._executor.submit(self._draw, self._pixels, self._mask)

    def png(self) -> bytes:
        """The PNG, waited for. Raises what reading the level raised."""
        if self._png is None:
            raise RuntimeError(f"level {self._level} was never shown whole")
        return self._png.result()

    def _draw(self, pixels: Pixels, mask: Mask | None) -> bytes:
        return preview_png(pixels, mask, self._recipe.nodata, self._template)
