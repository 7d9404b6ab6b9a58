"""Where edges of a source's pixels lie on edges of the mosaic's, rounding does not decide. Pure.

GDAL's kernels of areas (average, mode, rms) take in every pixel of which they see a part. Where
a sum of floats lies a ten-billionth of a pixel beside an edge, or one datum a tenth of a
millimetre beside another, they see a part of a whole further row: its value fills holes, and it
votes for a class. And of a source that they only touch, they take the first row or column in.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from scenemosaic.compositing.boxes import Box
from scenemosaic.compositing.placing import ALIGNED_PX
from scenemosaic.compositing.points import Floats, Points
from scenemosaic.grids.grid import Affine6, Grid

# Of a source's pixel: what is more is not taken for a line.
_STRAIGHT_PX: Final = 1e-6
# Edges meet at every so many pixels, at most.
_MOST_APART_PX: Final = 64


@dataclass(frozen=True, slots=True)
class Line:
    """Source pixels along one axis: ``start`` at a cell's first edge, ``step`` a pixel of it."""

    start: float
    step: float
    exact: bool

    def sees(self, count: int, size: int) -> npt.NDArray[np.bool_]:
        """Which of the cell's ``count`` pixels do more than touch a source of ``size``."""
        edges = self.start + self.step * np.arange(count + 1)
        low, high = np.minimum(edges[:-1], edges[1:]), np.maximum(edges[:-1], edges[1:])
        return np.asarray((high > ALIGNED_PX) & (low < size - ALIGNED_PX))


@dataclass(frozen=True, slots=True)
class Straight:
    """A cell whose columns and rows are those of the source, each by a factor.

    ``x`` and ``y`` are the source's axes; where ``turned``, its columns lie along the cell's rows.
    """

    x: Line
    y: Line
    turned: bool

    def sees(self, cell: Box, source: Grid) -> npt.NDArray[np.bool_]:
        """Which of the cell's pixels (height, width) do more than touch the source."""
        along_x, along_y = (cell.height, cell.width) if self.turned else (cell.width, cell.height)
        x, y = self.x.sees(along_x, source.width), self.y.sees(along_y, source.height)
        return np.asarray(x[:, None] & y if self.turned else y[:, None] & x)

    def transforms(self, box: Box) -> tuple[Affine6, Affine6] | None:
        """Those of the source's ``box`` and of the cell in a plane of the source's pixels.

        There, the edges of an exact line are exact numbers; None where neither line is one.
        Neither is the identity, which would say that there is no place.
        """
        if not (self.x.exact or self.y.exact):
            return None
        source = 1.0, 0.0, 1.0, 0.0, -1.0, -1.0
        x, y = self.x.start - box.x0 + 1, box.y0 - self.y.start - 1
        if self.turned:
            return source, (0.0, self.x.step, x, -self.y.step, 0.0, y)
        return source, (self.x.step, 0.0, x, 0.0, -self.y.step, y)


def straight(cell: Box, cols: Floats, rows: Floats, there: Points) -> Straight | None:
    """How the cell lies in a source; None where its columns or rows are none there.

    ``there`` are the pixel coordinates in the source of the points ``cols``, ``rows``.
    """
    cols, rows = cols - cell.x0, rows - cell.y0
    for turned, (along_x, along_y) in ((False, (cols, rows)), (True, (rows, cols))):
        x, y = _line(along_x, there[0]), _line(along_y, there[1])
        if x is not None and y is not None:
            return Straight(x, y, turned)
    return None


def _line(along: Floats, values: Floats) -> Line | None:
    first, last = int(np.argmin(along)), int(np.argmax(along))
    start = float(values[first])
    step = (float(values[last]) - start) / float(along[last] - along[first])
    if not math.isfinite(step) or not step:
        return None
    exact = _exact(start, step)
    if exact is not None and _off(exact, along, values) < ALIGNED_PX:
        return exact
    line = Line(start, step, exact=False)
    return line if _off(line, along, values) < _STRAIGHT_PX else None


def _exact(start: float, step: float) -> Line | None:
    ratio = Fraction(step).limit_denominator(_MOST_APART_PX)
    edge = Fraction(round(start * ratio.denominator), ratio.denominator)
    return Line(float(edge), float(ratio), exact=True) if ratio else None


def _off(line: Line, along: Floats, values: Floats) -> float:
    """How far the points lie from a line; NaN where one has no place."""
    return float(np.max(np.abs(values - (line.start + line.step * along))))
