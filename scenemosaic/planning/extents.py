"""What of a lattice a mosaic covers: the bounds asked for, or the box around its sources. Pure."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from scenemosaic.compositing.placing import extent, is_torn
from scenemosaic.errors import InputError
from scenemosaic.grids.crs_text import turn_of
from scenemosaic.grids.grid import Grid
from scenemosaic.planning.images import Named
from scenemosaic.planning.lattice import Lattice, shown_crs
from scenemosaic.planning.looked import named

# x0, y0, x1, y1 in pixels.
Extent = tuple[float, float, float, float]


def asked_extent(lattice: Lattice, bounds: Sequence[float]) -> Extent:
    """The bounds (west, south, east, north) in pixels of the lattice."""
    west, south, east, north = bounds
    if east < west:
        turn = turn_of(lattice.crs_wkt)
        if turn is None:
            raise InputError(
                f"--bounds {spelled(bounds)} have their west behind their east, which only "
                "degrees across the antimeridian may"
            )
        east += turn
    a, _b, c, _d, e, f = lattice.transform
    xs, ys = sorted(((west - c) / a, (east - c) / a)), sorted(((south - f) / e, (north - f) / e))
    return xs[0], ys[0], xs[1], ys[1]


def extent_around(lattice: Lattice, sources: Sequence[Named], notes: list[str]) -> Extent:
    """The box around all sources in pixels of the lattice, as narrow as whole turns allow.

    Raises InputError naming a source that has no such place.
    """
    known = [named(source.name, partial(_extent, lattice, source.image.grid)) for source in sources]
    turn = turn_of(lattice.crs_wkt)
    a, b, _c, d, _e, _f = lattice.transform
    if turn is not None and not (b or d):  # sources lie on a turned lattice as they stand
        known = _unwrapped(known, turn / a, notes)
    y0, y1 = min(one[1] for one in known), max(one[3] for one in known)
    return min(one[0] for one in known), y0, max(one[2] for one in known), y1


def _extent(lattice: Lattice, source: Grid) -> Extent:
    """The source's box on the lattice. Refuses what has none, or one without an end."""
    found = extent(lattice.transform, lattice.crs_wkt, source)
    if not all(map(math.isfinite, found)):
        raise InputError(
            f"it has no place, or no end, in {shown_crs(lattice.crs_wkt)}: say with --bounds what "
            "is wanted, or give another --crs"
        )
    if turn_of(lattice.crs_wkt) is None and is_torn(lattice.crs_wkt, source):
        raise InputError(
            f"it crosses the edge of {shown_crs(lattice.crs_wkt)} (the antimeridian, say), which "
            "tears it apart: say with --bounds what is wanted, or give another --crs"
        )
    return found


def _unwrapped(found: Sequence[Extent], turn: float, notes: list[str]) -> list[Extent]:
    """Boxes moved by whole turns so that together they are as narrow as can be.

    As they are where that is no wider: the first one stays.
    """
    x0, _, x1, _ = np.array(found).T
    turn = abs(turn)
    plain = float(x1.max() - x0.min())
    if plain <= turn / 2:
        return list(found)
    starts = [x0[0] - turn / 2, *np.unique(x0)]
    moves = [turn * np.ceil((start - x0) / turn - 1e-9) for start in starts]
    widths = [round(float((x1 + by).max() - (x0 + by).min()), 3) for by in moves]
    best = int(np.argmin(widths))
    if widths[best] > plain - 1:
        return list(found)
    notes.append("the sources lie on both sides of the antimeridian: the mosaic goes on beyond it")
    by = moves[best] - moves[best][0]
    return [
        (one[0] + float(b), one[1], one[2] + float(b), one[3])
        for one, b in zip(found, by, strict=True)
    ]


def spelled(values: Sequence[float]) -> str:
    """Numbers as a user gives them to an option."""
    return ",".join(f"{value:g}" for value in values)
