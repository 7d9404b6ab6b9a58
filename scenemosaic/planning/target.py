"""The grid of a mosaic of several sources, or of one that is cut or warped. Pure."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

from scenemosaic.compositing.points import shifted
from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Grid
from scenemosaic.grids.reach import check_place, goes_round, reach
from scenemosaic.planning.extents import Extent, asked_extent, extent_around, spelled
from scenemosaic.planning.images import Named
from scenemosaic.planning.kept import check_crs
from scenemosaic.planning.lattice import Lattice, asked_crs, is_positive, lattice_of, shown_crs
from scenemosaic.planning.looked import named
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.recipes.recipe_rules import MAX_SIZE_PX

# What lies this near to a line of the lattice, in pixels, lies on it.
_NEAR: Final = 1e-6


def check_grid_options(options: PlanOptions) -> None:
    """What can be seen without a source. Raises InputError naming the option."""
    if options.crs is not None:
        check_crs(f"--crs {options.crs:.80}", asked_crs(options.crs))
    size, bounds = options.resolution, options.bounds
    if size is not None and not _is_pixel(size):
        raise InputError(
            "--resolution takes one or two numbers above 0, the size of a pixel in the CRS's "
            f"units, not {spelled(size)}"
        )
    if bounds is None:
        return
    if len(bounds) != 4 or not all(map(math.isfinite, bounds)):
        raise InputError(f"--bounds takes west,south,east,north, not {spelled(bounds)}")
    if bounds[1] >= bounds[3] or bounds[0] == bounds[2]:
        raise InputError(f"--bounds {spelled(bounds)} have no area: give west,south,east,north")


def target_grid(sources: Sequence[Named], options: PlanOptions, notes: list[str]) -> Grid:
    """The mosaic's grid: as asked for, else the first source's lattice around all sources.

    Bounds are moved outwards to whole pixels. Where CRS and resolution are those of a
    source, so is the lattice, and it is copied pixel by pixel; else pixels begin at
    multiples of the resolution.
    """
    grids = [source.image.grid for source in sources]
    for source in sources:
        named(source.name, partial(check_place, source.image.grid, "its grid"))
    lattice = named(sources[0].name, lambda: lattice_of(grids, options, notes))
    if options.bounds is not None:
        box = asked_extent(lattice, options.bounds)
    else:
        box = extent_around(lattice, sources, notes)
    _check_sides(box, options)
    grid = _cut(lattice, box)
    _check_turns(grid, options)
    return grid


def _check_sides(box: Extent, options: PlanOptions) -> None:
    """Before anything is counted in pixels."""
    width, height = box[2] - box[0], box[3] - box[1]
    if max(width, height) <= MAX_SIZE_PX:
        return
    raise InputError(
        f"{_cause(options)} would make a mosaic of {width:.3g} x {height:.3g} pixels, and a "
        f"side has at most {MAX_SIZE_PX}: give a larger --resolution, or smaller --bounds"
    )


def _check_turns(grid: Grid, options: PlanOptions) -> None:
    """Metres given for degrees."""
    turn = goes_round(grid)
    if turn is not None:
        raise InputError(
            f"{_cause(options)} would make a mosaic that reaches {reach(grid):.3g} units of "
            f"{shown_crs(grid.crs_wkt)}, of which {turn:g} go once round: give --resolution and "
            "--bounds in these units, or another --crs"
        )


def _cause(options: PlanOptions) -> str:
    asked = [("--resolution", options.resolution), ("--bounds", options.bounds)]
    given = [f"{option} {spelled(values)}" for option, values in asked if values is not None]
    return " and ".join(given) or "the sources, which lie so far apart,"


def _cut(lattice: Lattice, box: Extent) -> Grid:
    """The lattice's pixels that hold a box: outwards, but for rounding errors."""
    x0, y0 = (math.floor(value + _NEAR) for value in box[:2])
    x1, y1 = (math.ceil(value - _NEAR) for value in box[2:])
    transform = shifted(lattice.transform, x0, y0)
    return Grid(lattice.crs_wkt, transform, max(x1 - x0, 1), max(y1 - y0, 1))


def _is_pixel(size: Sequence[float]) -> bool:
    return len(size) in (1, 2) and all(map(is_positive, (*size, size[0] * size[-1])))
