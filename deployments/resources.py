"""The memory that runs need by the size of their windows: the table of README.md.

``python -m deployments.resources`` prints it.
"""

import sys
from typing import Final

from scenemosaic.explain.memory import process_bytes
from scenemosaic.grids.grid import Grid, ceil_div
from scenemosaic.recipes.recipe import Recipe

SIDES: Final = (512, 1024, 2048, 4096)
# Bands and type of what is common.
SCENES: Final = ((1, "uint16"), (3, "uint8"), (1, "float32"), (4, "uint16"))
THREADS: Final = 2
_SCENE_PX: Final = 16384
_MIB: Final = 1 << 20


def needed_mib(side: int, bands: int, dtype: str, threads: int = THREADS) -> int:
    """An upper bound in MiB for a process of so many threads and one source."""
    grid = Grid("EPSG:32633", (10.0, 0.0, 0.0, 0.0, -10.0, 0.0), _SCENE_PX, _SCENE_PX)
    recipe = Recipe(grid, dtype, bands, None, False, side)
    return ceil_div(process_bytes(recipe, threads), _MIB)


def table() -> str:
    """In Markdown: a line for each kind of scene, a column for each size of windows."""
    head = ["MiB, two threads", *(f"windows of {side}" for side in SIDES)]
    lines = [head, ["---"] * len(head)]
    for bands, dtype in SCENES:
        needed = [str(needed_mib(side, bands, dtype)) for side in SIDES]
        lines.append([f"{bands} x {dtype}", *needed])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
