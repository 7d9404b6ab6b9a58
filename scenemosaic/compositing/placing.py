"""Where a source lies on the mosaic's grid: copied from an offset, or warped. Pure.

A box may be larger than what the source fills, never smaller: it decides what is
opened, not which pixels there are.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scenemosaic.compositing.boxes import Box
from scenemosaic.compositing.points import Floats, Points, moved, project, to_crs, to_pixels
from scenemosaic.grids.crs_text import turn_of
from scenemosaic.grids.grid import Affine6, Grid

# How far, in pixels, a source may lie off the grid and still be copied.
ALIGNED_PX: Final = 1e-3
_EDGE_STEPS: Final = 32
_INNER_STEPS: Final = 16
_SPARE: Final = 0.02
_TORN: Final = 30.0


@dataclass(frozen=True, slots=True)
class Placement:
    """A source, or one of the two parts that the antimeridian makes of it, on the grid.

    ``turn`` is what its origin is moved by, eastwards in units of its CRS; ``offset`` is the
    grid's (row, col) of its first pixel where it is copied, None where it is warped.
    """

    box: Box
    turn: float = 0.0
    offset: tuple[int, int] | None = None


def placements(target: Grid, source: Grid) -> tuple[Placement, ...]:
    """Where the source touches the grid; nothing where it does not."""
    return tuple(
        placement
        for turn in _turns(target, source)
        for placement in _placed(target, turned(source, turn), turn)
    )


def turned(source: Grid, turn: float) -> Grid:
    """The source with its origin moved eastwards."""
    return replace(source, transform=moved(source.transform, turn)) if turn else source


def aligned_offset(transform: Affine6, source: Grid) -> tuple[int, int] | None:
    """The (row, col) of the source's first pixel on a lattice of its CRS; None where it is off."""
    corners = np.array([0.0, source.width, 0.0]), np.array([0.0, 0.0, source.height])
    cols, rows = to_pixels(transform, *to_crs(source.transform, *corners))
    col, row = round(float(cols[0])), round(float(rows[0]))
    off = np.abs(cols - corners[0] - col), np.abs(rows - corners[1] - row)
    return (row, col) if float(np.max(off)) < ALIGNED_PX else None


def extent(transform: Affine6, crs_wkt: str, source: Grid) -> tuple[float, float, float, float]:
    """(x0, y0, x1, y1) of the source in pixels of a lattice; NaN where it has no place there.

    Infinite where a part of the source has none. Across the antimeridian the box goes on
    beyond it.
    """
    xs, ys = _outline(source, crs_wkt)
    lost = bool(np.isnan(xs).any())
    xs, ys = xs[~np.isnan(xs)], ys[~np.isnan(ys)]
    if not len(xs):
        return (math.nan,) * 4
    cols, rows = to_pixels(transform, xs, ys)
    box = float(cols.min()), float(rows.min()), float(cols.max()), float(rows.max())
    return (-math.inf, -math.inf, math.inf, math.inf) if lost else box


def diagonal(crs_wkt: str, source: Grid) -> float:
    """From the source's first corner to its last, in another CRS's units; NaN where one is lost."""
    xs, ys = _outline(source, crs_wkt)
    last = 2 * _EDGE_STEPS + 1
    between = math.hypot(xs[last] - xs[0], ys[last] - ys[0])
    # Round the Earth, both are one.
    around = math.hypot(np.ptp(xs), np.ptp(ys))
    return around if between < around / 2 else between


def is_torn(crs_wkt: str, source: Grid) -> bool:
    """Whether an edge of the source jumps in another CRS: its parts lie far from each other."""
    if source.crs_wkt == crs_wkt:
        return False
    xs, ys = project(source.crs_wkt, crs_wkt, to_crs(source.transform, *_grid_points(source)))
    edges = np.stack([xs, ys])[:, : 4 * (_EDGE_STEPS + 1)].reshape(2, 4, _EDGE_STEPS + 1)
    steps = np.hypot(*np.diff(edges, axis=2))
    longest, usual = np.nanmax(steps, axis=1), np.nanmedian(steps, axis=1)
    return bool((longest > _TORN * usual).any())


def _turns(target: Grid, source: Grid) -> tuple[float, ...]:
    """The turns under which a geographic source can hold a longitude that is asked for."""
    turn = turn_of(source.crs_wkt)
    if turn is None:
        return (0.0,)
    asked = (-turn / 2, turn / 2)  # what other CRSs are brought to
    if source.crs_wkt == target.crs_wkt:
        asked = _span(target)
    west, east = _span(source)
    spare = 1e-9 * turn
    first = math.ceil((asked[0] - east + spare) / turn)
    last = math.floor((asked[1] - west - spare) / turn)
    return tuple(turn * k for k in range(first, last + 1))


def _span(grid: Grid) -> tuple[float, float]:
    a, b, c, _d, _e, _f = grid.transform
    xs = [a * col + b * row + c for col in (0, grid.width) for row in (0, grid.height)]
    return min(xs), max(xs)


def _placed(target: Grid, source: Grid, turn: float) -> list[Placement]:
    image = Box(0, 0, target.height, target.width)
    if source.crs_wkt == target.crs_wkt:
        offset = aligned_offset(target.transform, source)
        if offset is not None:
            box = Box(0, 0, source.height, source.width).moved(*offset).meets(image)
            return [] if box is None else [Placement(box, turn, offset)]
    found = extent(target.transform, target.crs_wkt, source)
    boxes = [_outer(one).meets(image) for one in _repeated(found, target) if not math.isnan(one[0])]
    return [Placement(box, turn) for box in dict.fromkeys(boxes) if box is not None]


def _repeated(
    box: tuple[float, float, float, float], target: Grid
) -> list[tuple[float, float, float, float]]:
    """The box again one turn to the west and to the east, where the grid is of longitudes."""
    turn = turn_of(target.crs_wkt)
    if turn is None or not all(map(math.isfinite, box)):
        return [box]
    a, b, _c, d, e, _f = target.transform
    zero, whole = to_pixels((a, b, 0.0, d, e, 0.0), np.array([0.0, turn]), np.array([0.0, 0.0]))
    x, y = float(zero[1] - zero[0]), float(whole[1] - whole[0])
    x0, y0, x1, y1 = box
    return [(x0 + k * x, y0 + k * y, x1 + k * x, y1 + k * y) for k in (-2, -1, 0, 1, 2)]


def _outer(box: tuple[float, float, float, float]) -> Box:
    """Whole pixels around, with room for what bends between the points that were looked at."""
    x0, y0, x1, y1 = (min(max(value, -1e12), 1e12) for value in box)
    x, y = 2 + _SPARE * (x1 - x0), 2 + _SPARE * (y1 - y0)
    return Box(math.floor(y0 - y), math.floor(x0 - x), math.ceil(y1 + y), math.ceil(x1 + x))


def _outline(source: Grid, crs_wkt: str) -> Points:
    """Points of the source's edge and inside, in another CRS; longitudes without a jump."""
    cols, rows = _grid_points(source)
    xs, ys = project(source.crs_wkt, crs_wkt, to_crs(source.transform, cols, rows))
    turn = turn_of(crs_wkt)
    if turn is None or source.crs_wkt == crs_wkt:
        return xs, ys
    xs = _around(xs, turn)
    return _with_poles(source, crs_wkt, xs, ys, turn)


def _around(xs: Floats, turn: float) -> Floats:
    """Longitudes within half a turn of the middle of their largest cluster."""
    known = np.sort(np.mod(xs[~np.isnan(xs)], turn))
    if not len(known):
        return xs
    gaps = np.diff(np.append(known, known[0] + turn))
    start = float(known[(int(np.argmax(gaps)) + 1) % len(known)])
    around = np.mod(xs - start, turn) + start
    middle = (float(np.nanmin(around)) + float(np.nanmax(around))) / 2
    return np.asarray(around - turn * math.floor((middle + turn / 2) / turn))


def _with_poles(source: Grid, crs_wkt: str, xs: Floats, ys: Floats, turn: float) -> Points:
    """A source that holds a pole reaches round the Earth."""
    for latitude in (turn / 4, -turn / 4):
        at = np.array([0.0]), np.array([latitude])
        there = to_pixels(source.transform, *project(crs_wkt, source.crs_wkt, at))
        col, row = float(there[0][0]), float(there[1][0])
        if 0 <= col <= source.width and 0 <= row <= source.height:
            xs = np.append(np.mod(xs + turn / 2, turn) - turn / 2, [-turn / 2, turn / 2])
            ys = np.append(ys, [latitude, latitude])
    return xs, ys


def _grid_points(source: Grid) -> Points:
    edge = np.linspace(0.0, 1.0, _EDGE_STEPS + 1)
    inner = np.linspace(0.0, 1.0, _INNER_STEPS + 1)
    zeros, ones = np.zeros_like(edge), np.ones_like(edge)
    inner_x, inner_y = np.meshgrid(inner, inner)
    xs = np.concatenate([edge, edge, zeros, ones, inner_x.ravel()])
    ys = np.concatenate([zeros, ones, edge, edge, inner_y.ravel()])
    return xs * source.width, ys * source.height
