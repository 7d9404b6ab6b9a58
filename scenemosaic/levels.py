"""The next smaller level of an image, by GDAL's own kernels.

Invariant 3: nearest, average, mode and rms equal what GDAL's COG driver makes
where sizes divide (and so do the kernels that reach further, but for the last
digit of floats and of 64-bit integers); elsewhere a level has ``ceil(size / 2)`` pixels, each the
kernel over those pixels of the level below that lie inside the image. GDAL would
resample an odd size at a non-integer ratio, so an odd edge is repeated first: the
kernels weigh a repeated pixel and its original the same, so nothing changes but
the ratio.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import rasterio
from rasterio.enums import ColorInterp, Resampling
from rasterio.io import DatasetWriter, MemoryFile
from rasterio.session import DummySession

from scenemosaic.grids.grid import ceil_div
from scenemosaic.recipes.recipe_rules import REACH_PX

Pixels = npt.NDArray[Any]
Mask = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Kernel:
    """How a level is made from the one below it.

    ``alpha`` is the number of the alpha band (from 1), or None; pixels that
    nodata, mask or alpha hide do not count, but in nearest. An alpha band
    hides where GDAL's overviews let it: see :func:`_alpha`. ``most`` is the greatest
    value of samples that have fewer bits than their type: cubic and lanczos overshoot.
    """

    resampling: str
    nodata: float | int | None
    alpha: int | None = None
    most: int | None = None

    @property
    def reach(self) -> int:
        """How far a pixel looks beyond its own two by two of the level below, in its pixels."""
        return REACH_PX.get(self.resampling, 0)

    def margin(self, levels: int) -> int:
        """The pixels around a box that keep its levels 1 to ``levels`` free of its edges.

        A multiple of ``2**levels``, so that what is cut away is whole pixels of each.
        """
        return self.reach << levels if levels else 0


def halve(pixels: Pixels, mask: Mask | None, kernel: Kernel) -> tuple[Pixels, Mask | None]:
    """The next level of ``pixels`` (bands, height, width) and of ``mask`` (height, width)."""
    if kernel.resampling == "nearest":
        smaller = np.ascontiguousarray(pixels[:, ::2, ::2])
        return smaller, None if mask is None else np.ascontiguousarray(mask[::2, ::2])
    if kernel.resampling == "bilinear" and pixels.dtype == np.float32:
        return _by_doubles(pixels, mask, kernel)
    pixels = _even(pixels)
    bands, height, width = pixels.shape
    shape = (ceil_div(height, 2), ceil_div(width, 2))
    resampling = Resampling[kernel.resampling]
    with _dataset(pixels, mask, kernel) as dataset:
        if mask is not None:
            mask = _halved_mask(dataset, mask, kernel, shape)
        if _reading_differs(pixels, mask, kernel):
            dataset.build_overviews([2], resampling)
        # An overview of just this size is read as it is.
        halved = dataset.read(out_shape=(bands, *shape), resampling=resampling)
    if kernel.most is not None and kernel.reach:
        np.minimum(halved, kernel.most, out=halved)
    return halved, mask


def _by_doubles(pixels: Pixels, mask: Mask | None, kernel: Kernel) -> tuple[Pixels, Mask | None]:
    """Single floats: GDAL adds their four products in another order in a chunk's last rows."""
    nodata = None if kernel.nodata is None else float(np.float32(kernel.nodata))
    wide, smaller = halve(pixels.astype(np.float64), mask, replace(kernel, nodata=nodata))
    with np.errstate(over="ignore"):  # beyond a single float's range is infinite in one, too
        halved = wide.astype(np.float32)
    if nodata is not None:
        halved[(halved == nodata) & (wide != nodata)] = _next_to(nodata)
    return halved, smaller


def _next_to(nodata: float) -> np.float32:
    """The single float to which GDAL moves a mean that happens to be nodata."""
    most = np.float32(np.finfo(np.float32).max)
    return np.float32(np.nextafter(np.float32(nodata), -most if nodata >= most else most))


def _halved_mask(
    dataset: DatasetWriter, mask: Mask, kernel: Kernel, shape: tuple[int, int]
) -> Mask:
    if kernel.reach:
        # A pixel shows where GDAL makes a value at all: with what it hides left out of the kernel.
        smaller = halve(mask[np.newaxis], None, Kernel(kernel.resampling, 0))[0][0]
    else:
        smaller = dataset.read_masks(1, out_shape=shape, resampling=Resampling[kernel.resampling])
    return np.where(smaller > 0, 255, 0).astype(np.uint8)


def pyramid(
    pixels: Pixels, mask: Mask | None, kernel: Kernel, levels: int
) -> list[tuple[Pixels, Mask | None]]:
    """The levels 0 to ``levels`` of an image, each made from the one before."""
    made = [(pixels, mask)]
    for _ in range(levels):
        made.append(halve(*made[-1], kernel))
    return made


def _reading_differs(pixels: Pixels, mask: Mask | None, kernel: Kernel) -> bool:
    """Whether a smaller read of GDAL's may differ from its overview.

    A read takes another way wherever a chunk has nothing to hide: it rounds otherwise,
    and leaves a mean that happens to be nodata, which an overview moves off it. But an
    overview takes twice the time, so reads serve where the two agree: where nothing
    hides, and for unsigned integers under a mask or a nodata of 0, which no mean of
    others is. Kernels that reach further round otherwise in reads, if rarely.
    """
    if _alpha(pixels, mask, kernel) is not None or kernel.reach:
        return True
    if pixels.dtype in (np.uint8, np.uint16, np.uint32):
        if mask is None:
            return kernel.nodata not in (None, 0)
        return kernel.nodata is not None or kernel.resampling == "mode"
    return mask is not None or kernel.nodata is not None


def _alpha(pixels: Pixels, mask: Mask | None, kernel: Kernel) -> int | None:
    """The alpha band, if its own level or another's depends on it in GDAL's overviews.

    It does as the first band, beside nodata or a mask, and as the last one of gray or
    colour in 8 or 16 bits. Elsewhere it is a band as any other.
    """
    bands = len(pixels)
    usual = pixels.dtype in (np.uint8, np.uint16) and bands in (2, 4) and kernel.alpha == bands
    heeded = usual or kernel.alpha == 1 or kernel.nodata is not None or mask is not None
    return kernel.alpha if heeded else None


def _own_env() -> rasterio.Env:
    """Where credentials are in the environment, each call of rasterio's would look for them."""
    return rasterio.Env(session=DummySession())


@contextmanager
def _dataset(pixels: Pixels, mask: Mask | None, kernel: Kernel) -> Iterator[DatasetWriter]:
    bands, height, width = pixels.shape
    profile = {
        "count": bands,
        "height": height,
        "width": width,
        "dtype": pixels.dtype,
        "nodata": kernel.nodata,
        "transform": rasterio.Affine.translation(1, 1),
    }
    if kernel.nodata is None or pixels.dtype not in (np.int64, np.uint64):
        with _own_env(), rasterio.open("level", "w+", driver="MEM", **profile) as dataset:
            _fill(dataset, pixels, mask, kernel)
            yield dataset
        return
    # Only a file's tag gives bands of 64-bit integers a nodata through rasterio.
    with _own_env(), MemoryFile() as memory:
        with memory.open(driver="GTiff", **profile) as dataset:
            _fill(dataset, pixels, mask, kernel)
        with rasterio.open(memory.name, "r+", driver="GTiff") as dataset:
            yield dataset


def _fill(dataset: DatasetWriter, pixels: Pixels, mask: Mask | None, kernel: Kernel) -> None:
    alpha = _alpha(pixels, mask, kernel)
    if alpha is not None:
        kinds = [ColorInterp.undefined] * len(pixels)
        kinds[alpha - 1] = ColorInterp.alpha
        dataset.colorinterp = kinds
    dataset.write(pixels)
    if mask is not None:
        dataset.write_mask(_even(mask[np.newaxis])[0])
    elif alpha == 1 and kernel.nodata is None:
        # GDAL asks the first band alone whether anything hides, and then treats all alike.
        dataset.write_mask(np.full(pixels.shape[1:], 255, np.uint8))


def _even(pixels: Pixels) -> Pixels:
    """``pixels`` with an odd last row or column repeated."""
    _, height, width = pixels.shape
    if height % 2 == 0 and width % 2 == 0:
        return pixels
    return np.pad(pixels, ((0, 0), (0, height % 2), (0, width % 2)), mode="edge")
