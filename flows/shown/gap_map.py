"""A picture of a job's windows, one cell each, coloured by their state. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import imagecodecs
import numpy as np
import numpy.typing as npt

from scenemosaic.verification import report

# A state's colour, and its sign where there is room for a grid of signs.
STYLES: Final[Mapping[str, tuple[tuple[int, int, int], str]]] = {
    report.SOUND: ((46, 160, 67), "🟩"),
    report.WAIVED: ((56, 110, 200), "🟦"),
    report.MISSING: ((208, 52, 44), "🟥"),
    report.DAMAGED: ((240, 140, 30), "🟧"),
    report.UNCHECKED: ((200, 200, 200), "⬜"),
    # Of a run that processes: whoever made it, it is there.
    "written": ((46, 160, 67), "🟩"),
    "already there": ((130, 80, 190), "🟪"),
}
_UNKNOWN: Final = ((120, 120, 120), "⬛")
_BACKGROUND: Final = 255
_PICTURE_PIXELS: Final = 640
_MAX_CELL_PIXELS: Final = 24
_GRID_WINDOWS: Final = 32


def is_small(states: Mapping[str, str]) -> bool:
    """Whether a grid of signs is readable."""
    return max(_extent(states)) <= _GRID_WINDOWS


def grid(states: Mapping[str, str]) -> str:
    """Markdown: a line for each row of windows. ``states`` maps names (0007_0012) to states."""
    rows, cols = _extent(states)
    signs = [["　"] * cols for _ in range(rows)]
    for name, state in states.items():
        row, col = _place(name)
        signs[row][col] = STYLES.get(state, _UNKNOWN)[1]
    return "\n".join(["```", *("".join(line) for line in signs), "```", "", legend(states)])


def picture(states: Mapping[str, str]) -> bytes:
    """The same as a PNG of at most about 640 pixels a side, and of a pixel a window at least."""
    rows, cols = _extent(states)
    cell = min(max(_PICTURE_PIXELS // max(rows, cols), 1), _MAX_CELL_PIXELS)
    pixels: npt.NDArray[Any] = np.full((rows * cell, cols * cell, 3), _BACKGROUND, np.uint8)
    inside = cell - 1 if cell > 3 else cell  # a line of the background between cells
    for name, state in states.items():
        y, x = (place * cell for place in _place(name))
        pixels[y : y + inside, x : x + inside] = STYLES.get(state, _UNKNOWN)[0]
    return bytes(imagecodecs.png_encode(pixels))


def legend(states: Mapping[str, str]) -> str:
    """How many windows are in which state."""
    counts = dict.fromkeys((*STYLES, *states.values()), 0)
    for state in states.values():
        counts[state] += 1
    signs = ((STYLES.get(state, _UNKNOWN)[1], state, count) for state, count in counts.items())
    return " · ".join(f"{sign} {count} {state}" for sign, state, count in signs if count)


def _extent(states: Mapping[str, str]) -> tuple[int, int]:
    places = [_place(name) for name in states]
    return max(row for row, _ in places) + 1, max(col for _, col in places) + 1


def _place(name: str) -> tuple[int, int]:
    row, _, col = name.partition("_")
    return int(row), int(col)
