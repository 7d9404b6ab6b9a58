"""Band maths on pixels that were read: pointwise, in strips of rows, with bounded memory.

Where a source's band has no value (nodata, not a number, transparent, masked), no band
made of it has one. Nor has a result that is no finite number: see :mod:`evaluate`.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from scenemosaic.bandmath.cast import OutOfRange, cast
from scenemosaic.bandmath.evaluate import Doubles, evaluate
from scenemosaic.bandmath.program import Program, same_nodata
from scenemosaic.bandmath.tree import Node, bands_of
from scenemosaic.canonical import Number
from scenemosaic.dtypes import is_integer
from scenemosaic.errors import ComputationError

Pixels = npt.NDArray[Any]
Mask = npt.NDArray[np.uint8]
Where = npt.NDArray[np.bool_]
STRIP_PX: Final = 1 << 17


def apply(program: Program, pixels: Pixels, mask: Mask | None) -> tuple[Pixels, Mask | None]:
    """The mosaic's pixels (bands, height, width) and mask (height, width), 0 or 255.

    ``pixels`` holds the bands of :meth:`Program.read`, in that order. Raises
    ComputationError where a value does not fit the type, or there is no way to
    say that a pixel has no value.
    """
    height, width = pixels.shape[1:]
    made = np.empty((program.computed.count, height, width), np.dtype(program.target.dtype))
    if program.target.has_mask:
        # A source that has none is of values alone.
        mask = np.full((height, width), 255, np.uint8) if mask is None else mask.copy()
    for rows in _strips(height, width):
        within = None if mask is None else mask[rows]
        strip = _Strip(program, dict(zip(program.read(), pixels[:, rows], strict=True)), within)
        for index in range(program.computed.count):
            made[index, rows] = strip.band(index)
    return made, mask if program.target.has_mask else None


def _strips(height: int, width: int) -> Iterator[slice]:
    step = max(1, STRIP_PX // max(1, width))
    return (slice(top, min(top + step, height)) for top in range(0, height, step))


class _Strip:
    """Some rows of a source."""

    def __init__(self, program: Program, bands: dict[int, Pixels], mask: Mask | None) -> None:
        self._source, self._target = program.source, program.target
        self._computed, self._bands, self._mask = program.computed, bands, mask
        self._shown = _shown(program, bands, mask)

    def band(self, index: int) -> Pixels:
        """One band of the mosaic; what has no value is taken out of the mask, if there is one."""
        try:
            if self._computed.trees:
                return self._expressed(self._computed.trees[index])
            return self._selected(self._computed.bands[index])
        except OutOfRange as error:
            raise ComputationError(f"band {index + 1}: {error}") from None

    def _expressed(self, tree: Node) -> Pixels:
        named = bands_of(tree)
        known = np.logical_and.reduce([self._known(band) for band in named])
        values = evaluate(tree, {band: self._doubles(band) for band in named})
        return self._settled(np.broadcast_to(values, known.shape), known & np.isfinite(values))

    def _selected(self, band: int) -> Pixels:
        values, target = self._bands[band], self._target
        if self._computed.unscale:
            values = self._doubles(band)
            return self._settled(values, self._known(band) & np.isfinite(values))
        if target.dtype == values.dtype and same_nodata(target.nodata, self._source.nodata):
            return self._declared(values) if self._leaves_alpha_out() else values
        if self._source.nodata is None and target.dtype == values.dtype:
            return self._declared(values)
        # Floats hold what is no number; integers do not.
        kept = self._known(band) if is_integer(target.dtype) else self._given(band)
        return self._settled(values, kept)

    def _leaves_alpha_out(self) -> bool:
        """Whether nodata alone can say what the source's alpha band says, which is not taken."""
        alpha = self._source.alpha
        left_out = alpha is not None and alpha not in self._computed.bands
        return left_out and self._target.nodata is not None

    def _declared(self, values: Pixels) -> Pixels:
        """Pixels of nodata's value mean it, whoever says so, and what is hidden becomes it."""
        return np.where(self._shown, values, values.dtype.type(self._target.nodata))

    def _given(self, band: int) -> Where:
        return self._shown & ~_equals(self._bands[band], self._source.nodata)

    def _known(self, band: int) -> Where:
        return self._given(band) & ~_not_numbers(self._bands[band])

    def _doubles(self, band: int) -> Doubles:
        doubles = self._bands[band].astype(np.float64)
        if not self._computed.unscale:
            return doubles
        return doubles * self._source.scales[band - 1] + self._source.offsets[band - 1]

    def _settled(self, values: Pixels, known: Where) -> Pixels:
        made, nodata = cast(values, known, self._target.dtype), self._target.nodata
        if known.all():
            return self._told_apart(made, known)
        if nodata is not None:
            return np.where(known, self._told_apart(made, known), made.dtype.type(nodata))
        if self._mask is None or not self._target.has_mask:
            raise OutOfRange(
                "a pixel has no value (nodata, or a division by zero, say), and the mosaic has no "
                "nodata to say so: give --nodata"
            )
        self._mask[~known] = 0
        return np.where(known, made, made.dtype.type(0))

    def _told_apart(self, made: Pixels, known: Where) -> Pixels:
        nodata = self._target.nodata
        if nodata is not None and (known & _equals(made, nodata)).any():
            raise OutOfRange(
                f"the value {nodata} is both nodata and a result: give another --nodata (and nan "
                "in an expression for what has no value)"
            )
        return made


def _shown(program: Program, bands: dict[int, Pixels], mask: Mask | None) -> Where:
    """Where the source is neither masked nor transparent, if the mosaic can say so otherwise."""
    shape = next(iter(bands.values())).shape
    shown, target, alpha = np.ones(shape, np.bool_), program.target, program.source.alpha
    if target.nodata is None and not target.has_mask:
        return shown
    if mask is not None:
        shown &= mask != 0
    if alpha is not None and alpha not in program.computed.bands:
        shown &= bands[alpha] != 0
    return shown


def _equals(values: Pixels, nodata: Number | None) -> Where:
    if nodata is None:
        return np.zeros(values.shape, np.bool_)
    if isinstance(nodata, float) and math.isnan(nodata):
        return _not_numbers(values)
    equal: Where = values == values.dtype.type(nodata)
    return equal


def _not_numbers(values: Pixels) -> Where:
    return np.isnan(values) if values.dtype.kind in "fc" else np.zeros(values.shape, np.bool_)
