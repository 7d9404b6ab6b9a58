"""Values become another type, each the nearest one that the type has, or are refused."""

from typing import Any

import numpy as np
import numpy.typing as npt

from scenemosaic.canonical import Number
from scenemosaic.dtypes import integer_range, is_integer

Pixels = npt.NDArray[Any]
Where = npt.NDArray[np.bool_]


class OutOfRange(ValueError):
    """A value that the type does not hold."""


def cast(values: Pixels, valid: Where, dtype: str) -> Pixels:
    """``values`` as ``dtype``; what stands where not ``valid`` means nothing.

    Integers of doubles are rounded, half to even. Raises OutOfRange for a valid
    value that the type does not hold: nothing wraps, and nothing is clipped.
    """
    if values.dtype == dtype:
        return values
    values = np.where(valid, values, values.dtype.type(0))
    if is_integer(dtype):
        return _integers(values, dtype)
    with np.errstate(over="ignore"):
        floats: Pixels = values.astype(dtype)
    lost = np.isinf(floats) & np.isfinite(values)
    if lost.any():
        raise _out_of_range(values[lost][0].item(), dtype)
    return floats


def _integers(values: Pixels, dtype: str) -> Pixels:
    low, high = integer_range(dtype)
    if values.dtype.kind == "f":
        values = np.rint(values)
        if not np.isfinite(values).all():
            raise _out_of_range(values[~np.isfinite(values)][0].item(), dtype)
    for extreme in (values.min().item(), values.max().item()):
        if not low <= extreme <= high:  # of Python's numbers: exact, whatever their types
            raise _out_of_range(extreme, dtype)
    whole: Pixels = values.astype(dtype)
    return whole


def _out_of_range(value: Number, dtype: str) -> OutOfRange:
    span = " ({}..{})".format(*integer_range(dtype)) if is_integer(dtype) else ""
    return OutOfRange(f"the value {value:g} is not one of {dtype}{span}")
