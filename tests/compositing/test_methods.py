"""What becomes of several values: against the plain definition, whatever order sources come in."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenemosaic.compositing.boxes import Box
from scenemosaic.compositing.layers import Layer
from scenemosaic.compositing.methods import method_of

BOX = Box(10, 20, 14, 25)
Array = npt.NDArray[Any]


def layers_of(seed: int, count: int, dtype: str, bands: int = 2) -> list[Layer]:
    """Layers of parts of the box, at the ends of their type too."""
    rng = np.random.default_rng(seed)
    layers = []
    for _ in range(count):
        y, x = int(rng.integers(10, 14)), int(rng.integers(20, 25))
        part = Box(y, x, int(rng.integers(y + 1, 15)), int(rng.integers(x + 1, 26)))
        shape = (bands, part.height, part.width)
        values = rng.choice(_values(dtype), shape).astype(dtype)
        layers.append(Layer(part, values, rng.random(shape) < 0.7))
    return layers


def _values(dtype: str) -> Array:
    if dtype.startswith("float"):
        return np.array([0.1, -3.7e5, 1e-7, 2.5, np.inf, 7.25], dtype)
    info = np.iinfo(dtype)
    return np.array([info.min, info.min + 1, 3, 4, 7, info.max - 1, info.max], dtype)


def merged(name: str, layers: Sequence[Layer], dtype: str, bands: int = 2) -> tuple[Array, Array]:
    method = method_of(name, BOX, bands, dtype)
    for layer in reversed(layers) if name == "last" else layers:
        if method.wants(layer.box):
            method.add(layer)
    return method.result()


def stacks(layers: Sequence[Layer], at: tuple[int, int, int]) -> list[Any]:
    """The values for one pixel, in order."""
    band, y, x = at[0], at[1] + BOX.y0, at[2] + BOX.x0
    found = []
    for layer in layers:
        box = layer.box
        if box.y0 <= y < box.y1 and box.x0 <= x < box.x1:
            here = (band, y - box.y0, x - box.x0)
            if layer.valid[here]:
                found.append(layer.pixels[here])
    return found


def _mean(values: Sequence[Any]) -> int:
    return floor(Fraction(sum(map(int, values)), len(values)) + Fraction(1, 2))


def _median(values: Sequence[Any]) -> int:
    ranked = sorted(map(int, values))
    return _mean([ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]])


PLAIN: dict[str, Callable[[Sequence[Any]], Any]] = {
    "min": min,
    "max": max,
    "mean": _mean,
    "median": _median,
}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("name", sorted(PLAIN))
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), count=st.integers(0, 5))
def test_integers_are_exact(name: str, dtype: str, seed: int, count: int) -> None:
    if name == "mean" and dtype.endswith("64"):
        return  # planning refuses it
    layers = layers_of(seed, count, dtype)
    pixels, known = merged(name, layers, dtype)
    for at in np.ndindex(pixels.shape):
        values = stacks(layers, (at[0], at[1], at[2]))
        assert known[at] == bool(values)
        if values:
            assert int(pixels[at]) == int(PLAIN[name](values))


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("name", ["min", "max", "median", "count"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 5))
def test_order_is_all_one(name: str, dtype: str, seed: int, count: int) -> None:
    layers = layers_of(seed, count, dtype)
    one, other = merged(name, layers, dtype), merged(name, layers[::-1], dtype)
    assert one[0].tobytes() == other[0].tobytes()
    assert np.array_equal(one[1], other[1])


@pytest.mark.parametrize("name", ["first", "last"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), count=st.integers(0, 5))
def test_a_pixel_comes_whole_from_one_source(name: str, seed: int, count: int) -> None:
    layers = layers_of(seed, count, "uint8")
    pixels, known = merged(name, layers, "uint8")
    order = layers if name == "first" else layers[::-1]
    for y, x in np.ndindex(BOX.height, BOX.width):
        held = [(stacks([one], (0, y, x)), stacks([one], (1, y, x))) for one in order]
        first = next(((a, b) for a, b in held if a or b), ([], []))
        for band, values in enumerate(first):
            assert known[band, y, x] == bool(values)
            assert not values or pixels[band, y, x] == values[0]


def test_nothing_more_is_asked_for_where_a_window_is_full() -> None:
    west = Box(10, 20, 14, 23)
    half = Layer(BOX, np.ones((1, 4, 5), "uint8"), np.indices((1, 4, 5))[2] < 3)
    for name, wanted in (("first", False), ("max", True)):
        method = method_of(name, BOX, 1, "uint8")
        method.add(half)
        assert method.wants(west) == wanted
        assert method.wants(BOX)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), count=st.integers(0, 5))
def test_counts_are_of_sources(seed: int, count: int) -> None:
    layers = layers_of(seed, count, "int16")
    pixels, known = merged("count", layers, "int16")
    assert known.all()
    for y, x in np.ndindex(BOX.height, BOX.width):
        either = sum(bool(stacks([one], (0, y, x)) or stacks([one], (1, y, x))) for one in layers)
        assert pixels[0, y, x] == either
