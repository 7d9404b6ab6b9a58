"""Small sources that overlap, and their mosaics read window by window."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rasterio.transform import Affine

from scenemosaic.compositing.composite import composite
from scenemosaic.grids.grid import Window
from scenemosaic.planning import survey
from scenemosaic.plans.plan import Plan, PlanOptions
from tests.plan.rasters import write_raster

Pixels = npt.NDArray[Any]
ORIGIN = (500_000.0, 4_000_000.0)


def waves(height: int, width: int, bands: int = 1, seed: int = 0) -> Pixels:
    """A smooth picture with some noise, from 100 to about 3,000."""
    rows, cols = np.mgrid[0:height, 0:width]
    rng = np.random.default_rng(seed)
    smooth = 1500 + 700 * np.sin(rows / 9 + seed) + 700 * np.cos(cols / 7 - seed)
    return np.stack([smooth + 60 * band + rng.random((height, width)) for band in range(bands)])


def make(
    path: Path,
    pixels: Pixels,
    at: tuple[float, float] = (0, 0),
    size: float = 10.0,
    origin: tuple[float, float] = ORIGIN,
    **options: Any,
) -> str:
    """A north-up GeoTIFF whose first pixel is ``at`` (row, col) from ``origin``."""
    x, y = origin[0] + at[1] * size, origin[1] - at[0] * size
    return write_raster(path, pixels, transform=Affine(size, 0, x, 0, -size, y), **options)


@dataclass(frozen=True)
class Mosaic:
    """A planned mosaic, and its pixels by any windows."""

    plan: Plan
    locations: tuple[str, ...]
    notes: tuple[str, ...]

    def read(self, window: int = 100_000) -> tuple[Pixels, Pixels | None]:
        """All pixels and the mask, read in windows of this size."""
        recipe = self.plan.recipe
        grid, shape = recipe.grid, (recipe.grid.height, recipe.grid.width)
        pixels = np.zeros((recipe.bands, *shape), recipe.dtype)
        mask = np.zeros(shape, np.uint8) if recipe.has_mask else None
        for y0 in range(0, grid.height, window):
            for x0 in range(0, grid.width, window):
                y1, x1 = min(y0 + window, grid.height), min(x0 + window, grid.width)
                made = composite(self.plan, self.locations, Window(0, 0, y0, x0, y1, x1))
                pixels[:, y0:y1, x0:x1] = made.pixels
                if mask is not None and made.mask is not None:
                    mask[y0:y1, x0:x1] = made.mask
        return pixels, mask

    def pixels(self, window: int = 100_000) -> Pixels:
        return self.read(window)[0]


def mosaic(sources: Sequence[str], **options: Any) -> Mosaic:
    """The mosaic of these sources."""
    scene = survey(sources, PlanOptions(**options))
    return Mosaic(scene.plan, scene.locations, scene.notes)
