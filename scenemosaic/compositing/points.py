"""Points from one CRS and grid to another; those that have no place there become NaN."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import rasterio
from rasterio._err import CPLE_AppDefinedError, CPLE_BaseError
from rasterio.crs import CRS
from rasterio.errors import CRSError, RasterioError
from rasterio.session import DummySession
from rasterio.warp import transform

from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Affine6

Floats = npt.NDArray[np.float64]
Points = tuple[Floats, Floats]


@lru_cache(maxsize=64)
def crs_of(wkt: str) -> CRS:
    """The CRS of a WKT."""
    return CRS.from_wkt(wkt)


@lru_cache(maxsize=1024)
def same_crs(one_wkt: str, other_wkt: str) -> bool:
    """Whether two WKTs mean the same, whatever each calls it."""
    return one_wkt == other_wkt or bool(crs_of(one_wkt) == crs_of(other_wkt))


def project(source_wkt: str, target_wkt: str, points: Points) -> Points:
    """``points`` of one CRS in another. Raises InputError where no way leads from one to it."""
    if source_wkt == target_wkt:
        return points
    try:
        with rasterio.Env(DummySession()):
            xs, ys = _projected(crs_of(source_wkt), crs_of(target_wkt), *points)
    except (RasterioError, CRSError, CPLE_BaseError):
        raise InputError(
            "no way leads from its CRS to the mosaic's, which may be of another planet: leave it "
            "out, or give another --crs"
        ) from None
    lost = ~(np.isfinite(xs) & np.isfinite(ys))
    xs[lost] = ys[lost] = math.nan
    return xs, ys


def _projected(source: Any, target: Any, xs: Floats, ys: Floats) -> Points:
    """One failing point fails them all in GDAL: halve until it stands alone, as NaN.

    Where there is no way at all, the error is another one.
    """
    try:
        there = transform(source, target, xs.tolist(), ys.tolist())
        return np.array(there[0], np.float64), np.array(there[1], np.float64)
    except CPLE_AppDefinedError:
        if len(xs) == 1:
            return np.array([math.nan]), np.array([math.nan])
    half = len(xs) // 2
    first = _projected(source, target, xs[:half], ys[:half])
    second = _projected(source, target, xs[half:], ys[half:])
    return np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]])


def to_crs(transform6: Affine6, cols: Floats, rows: Floats) -> Points:
    """Pixel coordinates (0 is the first pixel's outer edge) in the CRS's units."""
    a, b, c, d, e, f = transform6
    return a * cols + b * rows + c, d * cols + e * rows + f


def to_pixels(transform6: Affine6, xs: Floats, ys: Floats) -> Points:
    """The inverse of :func:`to_crs`."""
    a, b, c, d, e, f = transform6
    area = a * e - b * d
    x, y = xs - c, ys - f
    return (e * x - b * y) / area, (a * y - d * x) / area


def moved(transform6: Affine6, x: float, y: float = 0.0) -> Affine6:
    """The transform with its origin moved by so many units of the CRS."""
    a, b, c, d, e, f = transform6
    return a, b, c + x, d, e, f + y


def shifted(transform6: Affine6, cols: float, rows: float) -> Affine6:
    """The transform whose first pixel is the one at ``cols``, ``rows``."""
    a, b, c, d, e, f = transform6
    if cols == rows == 0:
        return transform6
    return a, b, c + a * cols + b * rows, d, e, f + d * cols + e * rows
