"""The grid of a mosaic of several sources, or of one that is cut or warped. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from rasterio.crs import CRS

from scenemosaic.compositing.placing import aligned_offset, diagonal, extent, is_torn
from scenemosaic.compositing.points import same_crs, shifted, turn_of
from scenemosaic.crs_text import code_or_wkt, normal_wkt, wkt_of
from scenemosaic.errors import InputError
from scenemosaic.grid import Affine6, Grid
from scenemosaic.plan import PlanOptions
from scenemosaic.planning.images import Named
from scenemosaic.planning.kept import check_crs
from scenemosaic.planning.looked import named
from scenemosaic.recipe_rules import MAX_SIZE_PX

# What lies this near to a line of the lattice, in pixels, lies on it.
_NEAR: Final = 1e-6
_DIGITS: Final = 5
Extent = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class _Lattice:
    """Endless pixels, the one at (0, 0) beginning at the transform's origin."""

    crs_wkt: str
    transform: Affine6


def check_grid_options(options: PlanOptions) -> None:
    """What can be seen without a source. Raises InputError naming the option."""
    if options.crs is not None:
        check_crs(f"--crs {options.crs:.80}", _asked_crs(options.crs))
    size, bounds = options.resolution, options.bounds
    if size is not None and not _is_pixel(size):
        raise InputError(
            "--resolution takes one or two numbers above 0, the size of a pixel in the CRS's "
            f"units, not {_spelled(size)}"
        )
    if bounds is None:
        return
    if len(bounds) != 4 or not all(map(math.isfinite, bounds)):
        raise InputError(f"--bounds takes west,south,east,north, not {_spelled(bounds)}")
    if bounds[1] >= bounds[3] or bounds[0] == bounds[2]:
        raise InputError(f"--bounds {_spelled(bounds)} have no area: give west,south,east,north")


def target_grid(sources: Sequence[Named], options: PlanOptions, notes: list[str]) -> Grid:
    """The mosaic's grid: as asked for, else the first source's lattice around all sources.

    Bounds are moved outwards to whole pixels. Where CRS and resolution are those of a
    source, so is the lattice, and it is copied pixel by pixel; else pixels begin at
    multiples of the resolution.
    """
    grids = [source.image.grid for source in sources]
    lattice = named(sources[0].name, lambda: _lattice(grids, options, notes))
    if options.bounds is not None:
        box = _asked_extent(lattice, options.bounds)
    else:
        box = _around(lattice, sources, notes)
    _check_sides(box, options)
    return _cut(lattice, box)


def _lattice(sources: Sequence[Grid], options: PlanOptions, notes: list[str]) -> _Lattice:
    first = sources[0]
    crs = first.crs_wkt if options.crs is None else _asked_crs(options.crs)
    crs = next((one.crs_wkt for one in sources if same_crs(one.crs_wkt, crs)), crs)
    if options.crs is None and len({source.crs_wkt for source in sources}) > 1:
        notes.append(
            f"the sources have several CRSs: the first one's, {_name(crs)}, is taken (--crs "
            "chooses another)"
        )
    within = [source for source in sources if source.crs_wkt == crs]
    plain = crs == first.crs_wkt and options.resolution is None and options.bounds is None
    if plain and all(_on(first, source) for source in sources):
        return _Lattice(crs, _anchor(first, sources))
    x, y = _pixel_size(first, within, crs, options, notes)
    like = next((source for source in within if _size_of(source) == (x, y)), None)
    if like is not None:
        return _Lattice(crs, _anchor(like, within))
    return _Lattice(crs, (x, 0.0, 0.0, 0.0, -y, 0.0))


def _asked_crs(text: str) -> str:
    """The WKT of a CRS that a user names, as that of a file is spelled."""
    try:
        crs = CRS.from_wkt(wkt_of(text))
    except InputError:
        raise InputError(
            f"--crs {text:.80} is no CRS: give a code such as EPSG:32632, or WKT"
        ) from None
    if not (crs.is_geographic or crs.is_projected):
        raise InputError(f"--crs {text:.80} is neither geographic nor projected")
    return normal_wkt(crs)


def _on(first: Grid, source: Grid) -> bool:
    same = source.crs_wkt == first.crs_wkt
    return same and aligned_offset(first.transform, source) is not None


def _anchor(first: Grid, sources: Sequence[Grid]) -> Affine6:
    """The transform of the first of all pixels on the lattice: to the last bit the same, in
    whichever order the sources come."""
    on = [source for source in sources if source is first or _on(first, source)]
    return min((_place(first, source), source.transform) for source in on)[1]


def _place(first: Grid, source: Grid) -> tuple[int, int]:
    place = aligned_offset(first.transform, source)
    return (0, 0) if place is None else place


def _size_of(grid: Grid) -> tuple[float, float] | None:
    """The pixel's width and height where its sides follow the axes."""
    a, b, _c, d, e, _f = grid.transform
    return None if b or d else (abs(a), abs(e))


def _pixel_size(
    first: Grid, within: Sequence[Grid], crs: str, options: PlanOptions, notes: list[str]
) -> tuple[float, float]:
    """As asked for, else that of the first source in the mosaic's CRS, else what suits."""
    if options.resolution is not None:
        return options.resolution[0], options.resolution[-1]
    if within:
        a, b, _c, d, e, _f = within[0].transform
        turned = _rounded(math.hypot(a, d)), _rounded(math.hypot(b, e))
        return _size_of(within[0]) or turned
    size = _suggested(first, crs)
    notes.append(
        f"pixels of {size:g} in {_name(crs)} suit the first source (--resolution chooses others)"
    )
    return size, size


def _suggested(first: Grid, crs: str) -> float:
    """The pixel in another CRS that keeps the source's detail along its diagonal; a short number.

    GDAL does the same, but where a source crosses the antimeridian.
    """
    size = diagonal(crs, first) / math.hypot(first.width, first.height)
    if not _positive(size):
        raise InputError(f"it has no place, or no end, in {_name(crs)}: give another --crs")
    return _rounded(size)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _asked_extent(lattice: _Lattice, bounds: Sequence[float]) -> Extent:
    west, south, east, north = bounds
    if east < west:
        turn = turn_of(lattice.crs_wkt)
        if turn is None:
            raise InputError(
                f"--bounds {_spelled(bounds)} have their west behind their east, which only "
                "degrees across the antimeridian may"
            )
        east += turn
    a, _b, c, _d, e, f = lattice.transform
    xs, ys = sorted(((west - c) / a, (east - c) / a)), sorted(((south - f) / e, (north - f) / e))
    return xs[0], ys[0], xs[1], ys[1]


def _around(lattice: _Lattice, sources: Sequence[Named], notes: list[str]) -> Extent:
    known = [named(source.name, partial(_extent, lattice, source.image.grid)) for source in sources]
    turn = turn_of(lattice.crs_wkt)
    if turn is not None:
        known = _unwrapped(known, turn / lattice.transform[0], notes)
    y0, y1 = min(one[1] for one in known), max(one[3] for one in known)
    return min(one[0] for one in known), y0, max(one[2] for one in known), y1


def _extent(lattice: _Lattice, source: Grid) -> Extent:
    """The source's box on the lattice. Refuses what has none, or one without an end."""
    found = extent(lattice.transform, lattice.crs_wkt, source)
    if not all(map(math.isfinite, found)):
        raise InputError(
            f"it has no place, or no end, in {_name(lattice.crs_wkt)}: say with --bounds what is "
            "wanted, or give another --crs"
        )
    if turn_of(lattice.crs_wkt) is None and is_torn(lattice.crs_wkt, source):
        raise InputError(
            f"it crosses the edge of {_name(lattice.crs_wkt)} (the antimeridian, say), which tears "
            "it apart: say with --bounds what is wanted, or give another --crs"
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


def _check_sides(box: Extent, options: PlanOptions) -> None:
    """Before anything is counted in pixels."""
    width, height = box[2] - box[0], box[3] - box[1]
    if max(width, height) <= MAX_SIZE_PX:
        return
    asked = [("--resolution", options.resolution), ("--bounds", options.bounds)]
    given = [f"{option} {_spelled(values)}" for option, values in asked if values is not None]
    cause = " and ".join(given) or "the sources, which lie so far apart,"
    raise InputError(
        f"{cause} would make a mosaic of {width:.3g} x {height:.3g} pixels, and a side has at most "
        f"{MAX_SIZE_PX}: give a larger --resolution, or smaller --bounds"
    )


def _cut(lattice: _Lattice, box: Extent) -> Grid:
    """The lattice's pixels that hold a box: outwards, but for rounding errors."""
    x0, y0 = (math.floor(value + _NEAR) for value in box[:2])
    x1, y1 = (math.ceil(value - _NEAR) for value in box[2:])
    transform = shifted(lattice.transform, x0, y0)
    return Grid(lattice.crs_wkt, transform, max(x1 - x0, 1), max(y1 - y0, 1))


def _name(crs_wkt: str) -> str:
    text = code_or_wkt(crs_wkt)
    return text if len(text) < 40 else text[:40] + "…"


def _is_pixel(size: Sequence[float]) -> bool:
    return len(size) in (1, 2) and all(map(_positive, (*size, size[0] * size[-1])))


def _positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _spelled(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)
