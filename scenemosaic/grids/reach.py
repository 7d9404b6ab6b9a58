"""How far a grid reaches, and whether floats can say where each of its pixels lies."""

import math
from typing import Final

from scenemosaic.errors import InputError
from scenemosaic.grids.crs_text import turn_of
from scenemosaic.grids.grid import Grid

# Nobody needs more than one, and whole pixels reach further.
MOST_TURNS: Final = 2
# In units of a CRS, whatever these are: far beyond what lies on, or round, a planet.
_FARTHEST: Final = 1e15
_SMALLEST: Final = 1e-12
# The sine of the angle between the sides of a pixel: below it they are one line.
_NARROWEST: Final = 1e-9


def reach(grid: Grid) -> float:
    """The length of the grid's longer side, in units of its CRS."""
    a, b, _c, d, e, _f = grid.transform
    return max(math.hypot(a, d) * grid.width, math.hypot(b, e) * grid.height)


def goes_round(grid: Grid) -> float | None:
    """A turn in units of the grid's CRS, where the grid goes round more often than is borne.

    Each turn has the sources of a mosaic lie there once more.
    """
    turn = turn_of(grid.crs_wkt)
    return turn if turn is not None and reach(grid) > MOST_TURNS * turn else None


def check_place(grid: Grid, where: str) -> None:
    """InputError naming ``where`` if no other grid's pixels can be found on this one.

    Of several sources each is found on the mosaic's grid, by this arithmetic alone.
    """
    a, b, c, d, e, f = grid.transform
    sides = math.hypot(a, d), math.hypot(b, e)
    if min(sides) < _SMALLEST or max(*map(abs, (c, f)), reach(grid)) > _FARTHEST:
        raise InputError(
            f"{where} is of {grid.width} x {grid.height} pixels of {sides[0]:.3g} x {sides[1]:.3g} "
            f"units from {c:.3g}, {f:.3g} on, which is no place"
        )
    if abs(a / sides[0] * (e / sides[1]) - b / sides[1] * (d / sides[0])) < _NARROWEST:
        raise InputError(f"{where} is sheared until its pixels have no area")
    turn = goes_round(grid)
    if turn is not None:
        raise InputError(
            f"{where} reaches {reach(grid):.3g} units of its CRS, of which {turn:g} go once round"
        )
