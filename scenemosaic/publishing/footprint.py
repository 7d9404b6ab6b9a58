"""Where a grid lies on the Earth: GeoJSON geometry and bounding box in WGS84."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import rasterio
from rasterio._err import CPLE_AppDefinedError, CPLE_BaseError
from rasterio.crs import CRS
from rasterio.errors import RasterioError
from rasterio.session import DummySession
from rasterio.warp import transform as transform_points

from scenemosaic.grids.grid import Grid

Point = tuple[float, float]
Ring = list[Point]
_STEPS: Final = 20
_INNER_STEPS: Final = 32
_DECIMALS: Final = 7  # about a centimetre
_SAME: Final = 1e-7
_WGS84: Final = "OGC:CRS84"


def footprint(grid: Grid) -> tuple[dict[str, Any] | None, list[float] | None]:
    """(geometry, bbox) of a grid; (None, None) where its CRS has no place on the Earth.

    Edges are densified, so that straight lines of the CRS stay where they are.
    Across the antimeridian the geometry is split there, and the box's west is
    greater than its east, as GeoJSON wants. Where part of the edge is off the
    Earth (a full disk), the geometry is the box of what is on it.
    """
    ring = _to_wgs84(grid, _edge())
    if not ring:
        return None, None
    if not all(map(_finite, ring)):
        ring = _box_ring([point for point in _to_wgs84(grid, _inside()) if _finite(point)])
        if not ring:
            return None, None
    ring = _unwrapped(ring)
    if abs(ring[-1][0] - ring[0][0]) > 180:
        ring = _polar_ring(ring)
    return _geometry(ring[:-1])


def _edge() -> list[Point]:
    """A closed walk round the unit square."""
    steps = [step / _STEPS for step in range(_STEPS)]
    top, right = [(s, 0.0) for s in steps], [(1.0, s) for s in steps]
    bottom, left = [(1 - s, 1.0) for s in steps], [(0.0, 1 - s) for s in steps]
    return [*top, *right, *bottom, *left, (0.0, 0.0)]


def _inside() -> list[Point]:
    steps = [step / _INNER_STEPS for step in range(_INNER_STEPS + 1)]
    return [(x, y) for y in steps for x in steps]


def _to_wgs84(grid: Grid, points: Sequence[Point]) -> Ring:
    """Points of the unit square, as parts of the image, in degrees; empty where there is no way."""
    a, b, c, d, e, f = grid.transform
    cols, rows = zip(*((x * grid.width, y * grid.height) for x, y in points), strict=True)
    xs = [a * col + b * row + c for col, row in zip(cols, rows, strict=True)]
    ys = [d * col + e * row + f for col, row in zip(cols, rows, strict=True)]
    try:
        crs, wgs84 = CRS.from_wkt(grid.crs_wkt), CRS.from_string(_WGS84)
        with rasterio.Env(DummySession()):
            return _transformed(crs, wgs84, list(zip(xs, ys, strict=True)))
    except (RasterioError, CPLE_BaseError):  # another planet, or no place at all
        return []


def _transformed(crs: CRS, wgs84: CRS, points: list[Point]) -> Ring:
    """One failing point fails them all in GDAL: halve until it stands alone, as NaN."""
    try:
        lons, lats = transform_points(crs, wgs84, *map(list, zip(*points, strict=True)))
        return list(zip(lons, lats, strict=True))
    except CPLE_AppDefinedError:
        if len(points) == 1:
            return [(math.nan, math.nan)]
    half = len(points) // 2
    return _transformed(crs, wgs84, points[:half]) + _transformed(crs, wgs84, points[half:])


def _finite(point: Point) -> bool:
    return all(map(math.isfinite, point)) and abs(point[1]) <= 90.000001


def _box_ring(points: Ring) -> Ring:
    if not points:
        return []
    west, east = min(p[0] for p in points), max(p[0] for p in points)
    south, north = min(p[1] for p in points), max(p[1] for p in points)
    return [(west, south), (east, south), (east, north), (west, north), (west, south)]


def _unwrapped(ring: Ring) -> Ring:
    """The ring with longitudes that never jump by more than half a turn."""
    lons = np.unwrap([lon for lon, _ in ring], period=360.0)
    middle = (float(lons.min()) + float(lons.max())) / 2
    shift = 360.0 * math.floor((middle + 180.0) / 360.0)
    return [(float(lon) - shift, lat) for lon, (_, lat) in zip(lons, ring, strict=True)]


def _polar_ring(ring: Ring) -> Ring:
    """The box of a ring that goes round a pole."""
    lats = [lat for _, lat in ring]
    pole = math.copysign(90.0, sum(lats))
    return _box_ring([(-180.0, min(*lats, pole)), (180.0, max(*lats, pole))])


def _geometry(ring: Ring) -> tuple[dict[str, Any], list[float]]:
    west, east = min(p[0] for p in ring), max(p[0] for p in ring)
    south, north = min(p[1] for p in ring), max(p[1] for p in ring)
    if east - west >= 360 - _SAME:
        west, east = -180.0, 180.0
        ring = _box_ring([(west, south), (east, north)])[:-1]
    if west >= -180 and east <= 180:
        box = [west, south, east, north]
        return {"type": "Polygon", "coordinates": [_closed(ring)]}, _rounded(box)
    seam = 180.0 if east > 180 else -180.0
    eastern = [(lon - 360 if seam > 0 else lon, lat) for lon, lat in _clipped(ring, seam, True)]
    western = [(lon if seam > 0 else lon + 360, lat) for lon, lat in _clipped(ring, seam, False)]
    parts = [[_closed(western)], [_closed(eastern)]]
    box = [min(p[0] for p in western), south, max(p[0] for p in eastern), north]
    return {"type": "MultiPolygon", "coordinates": parts}, _rounded(box)


def _clipped(ring: Ring, meridian: float, keep_east: bool) -> Ring:
    """The part of an open ring on one side of a meridian (Sutherland and Hodgman)."""
    sign = 1.0 if keep_east else -1.0
    kept: Ring = []
    for start, end in zip([ring[-1], *ring[:-1]], ring, strict=True):
        before, after = sign * (start[0] - meridian), sign * (end[0] - meridian)
        if before * after < 0:
            share = before / (before - after)
            kept.append((meridian, start[1] + share * (end[1] - start[1])))
        if after >= 0:
            kept.append(end)
    return kept


def _closed(ring: Ring) -> list[list[float]]:
    """The ring closed, counter-clockwise, rounded, without repeated points."""
    turns = zip(ring, [*ring[1:], ring[0]], strict=True)
    area = sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in turns)
    ordered = ring if area > 0 else ring[::-1]
    points: list[list[float]] = []
    for point in [*ordered, ordered[0]]:
        if (rounded := _rounded(point)) not in points[-1:]:
            points.append(rounded)
    return points


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, _DECIMALS) + 0.0 for value in values]
