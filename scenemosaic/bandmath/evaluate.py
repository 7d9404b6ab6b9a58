"""The value of an expression, in double precision, whatever the bands' own type.

Where a number comes from a division by zero, or from outside a function's domain, it is
infinite or NaN, as IEEE 754 has it. Comparisons are 1 and 0, and anything but 0 is true.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from scenemosaic.bandmath.tree import Band, Node, Number

Doubles = npt.NDArray[np.float64]
_Kernel = Callable[..., Any]


def evaluate(node: Node, bands: Mapping[int, Doubles]) -> Doubles:
    """The values of ``node`` where its bands have these: of the bands' shape, or one for all."""
    with np.errstate(all="ignore"):
        return np.asarray(_value(node, bands), np.float64)


def _value(node: Node, bands: Mapping[int, Doubles]) -> Any:
    if isinstance(node, Number):
        return np.float64(node.value)
    if isinstance(node, Band):
        return bands[node.number]
    if node.name == "**" and (exponent := _small_whole(node.arguments[1])) is not None:
        return _whole_power(_value(node.arguments[0], bands), exponent)
    return _KERNELS[node.name](*(_value(argument, bands) for argument in node.arguments))


def _small_whole(node: Node) -> int | None:
    if not isinstance(node, Number) or not node.value.is_integer() or not 1 <= node.value <= 64:
        return None
    return int(node.value)


def _whole_power(base: Any, exponent: int) -> Any:
    """By products alone: these are the same on every machine, a library's powers are not."""
    power = None
    while exponent:
        if exponent & 1:
            power = base if power is None else power * base
        base, exponent = base * base, exponent >> 1
    return power


def _truth(kernel: _Kernel) -> _Kernel:
    return lambda *values: kernel(*values).astype(np.float64)


def _all(kernel: _Kernel) -> _Kernel:
    return lambda *values: functools.reduce(kernel, values)


def _clip(value: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(value, low), high)


def _where(condition: Any, true: Any, false: Any) -> Any:
    return np.where(condition != 0, true, false)


_KERNELS: Final[Mapping[str, _Kernel]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "neg": np.negative,
    "<": _truth(np.less),
    "<=": _truth(np.less_equal),
    ">": _truth(np.greater),
    ">=": _truth(np.greater_equal),
    "==": _truth(np.equal),
    "!=": _truth(np.not_equal),
    "and": _truth(np.logical_and),
    "or": _truth(np.logical_or),
    "not": _truth(np.logical_not),
    "abs": np.abs,
    "clip": _clip,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "max": _all(np.maximum),
    "min": _all(np.minimum),
    "round": np.rint,
    "sqrt": np.sqrt,
    "where": _where,
}
