"""The next smaller level of an image, by GDAL's own kernels.

Invariant 3: nearest, average, mode and rms equal what GDAL's COG driver makes
where sizes divide; elsewhere a level has ``ceil(size / 2)`` pixels, each the
kernel over those pixels of the level below that lie inside the image. GDAL would
resample an odd size at a non-integer ratio, so an odd edge is repeated first: the
kernels weigh a repeated pixel and its original the same, so nothing changes but
the ratio.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import rasterio
from rasterio.enums import ColorInterp, Resampling

from scenemosaic.grid import ceil_div

Pixels = npt.NDArray[Any]
Mask = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Kernel:
    """How a level is made from the one below it.

    ``alpha`` is the number of the alpha band (from 1), or None; pixels that
    nodata, mask or alpha hide do not count in average, mode and rms.
    """

    resampling: str
    nodata: float | int | None
    alpha: int | None = None


def halve(pixels: Pixels, mask: Mask | None, kernel: Kernel) -> tuple[Pixels, Mask | None]:
    """The next level of ``pixels`` (bands, height, width) and of ``mask`` (height, width)."""
    if kernel.resampling == "nearest":
        smaller = np.ascontiguousarray(pixels[:, ::2, ::2])
        return smaller, None if mask is None else np.ascontiguousarray(mask[::2, ::2])
    pixels = _even(pixels)
    bands, height, width = pixels.shape
    shape = (ceil_div(height, 2), ceil_div(width, 2))
    resampling = Resampling[kernel.resampling]
    with _dataset(pixels, kernel) as dataset:
        if mask is not None:
            dataset.write_mask(_even(mask[np.newaxis])[0])
        halved = dataset.read(out_shape=(bands, *shape), resampling=resampling)
        if mask is not None:
            mask = dataset.read_masks(1, out_shape=shape, resampling=resampling)
    if kernel.alpha is not None and kernel.resampling in ("average", "rms"):
        # GDAL's overviews leave transparent pixels out of the alpha band's own kernel too.
        own = slice(kernel.alpha - 1, kernel.alpha)
        halved[own], _ = halve(pixels[own], None, Kernel(kernel.resampling, nodata=0))
    return halved, None if mask is None else np.where(mask > 0, 255, 0).astype(np.uint8)


def pyramid(
    pixels: Pixels, mask: Mask | None, kernel: Kernel, levels: int
) -> list[tuple[Pixels, Mask | None]]:
    """The levels 0 to ``levels`` of an image, each made from the one before."""
    made = [(pixels, mask)]
    for _ in range(levels):
        made.append(halve(*made[-1], kernel))
    return made


def _dataset(pixels: Pixels, kernel: Kernel) -> rasterio.io.DatasetWriter:
    bands, height, width = pixels.shape
    dataset = rasterio.open(
        "level",
        "w+",
        driver="MEM",
        count=bands,
        height=height,
        width=width,
        dtype=pixels.dtype,
        nodata=kernel.nodata,
        transform=rasterio.Affine.translation(1, 1),
    )
    if kernel.alpha is not None:
        kinds = [ColorInterp.undefined] * bands
        kinds[kernel.alpha - 1] = ColorInterp.alpha
        dataset.colorinterp = kinds
    dataset.write(pixels)
    return dataset


def _even(pixels: Pixels) -> Pixels:
    """``pixels`` with an odd last row or column repeated."""
    _, height, width = pixels.shape
    if height % 2 == 0 and width % 2 == 0:
        return pixels
    return np.pad(pixels, ((0, 0), (0, height % 2), (0, width % 2)), mode="edge")
