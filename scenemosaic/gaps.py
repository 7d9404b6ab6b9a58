"""Which windows of a plan have no manifest row. A listing of the tiles is never trusted."""

from collections.abc import Iterable
from dataclasses import dataclass

from scenemosaic.grids.grid import Tiling
from scenemosaic.keys import MOSAIC_ROW


@dataclass(frozen=True, slots=True)
class GapReport:
    """How many windows the plan has, how many have a row, and the names of the others."""

    windows: int
    present: int
    missing: tuple[str, ...]


def find_gaps(tiling: Tiling, row_names: Iterable[str]) -> GapReport:
    """Compare the plan's windows with the sort keys of all rows; rows of no window don't count."""
    names = set(row_names) - {MOSAIC_ROW}
    missing = tuple(window.name for window in tiling.windows() if window.name not in names)
    return GapReport(len(tiling), len(tiling) - len(missing), missing)
