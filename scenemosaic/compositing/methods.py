"""What becomes of the values that several sources have for one pixel. Pure; bounded memory.

``first`` and ``last`` take a pixel whole, with all its bands, from the source that has
a value in any of them; the others look at each band by itself. Means of integers
round half up, as GDAL's do.
"""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from scenemosaic.compositing.boxes import Box
from scenemosaic.compositing.layers import Layer
from scenemosaic.dtypes import is_complex, is_integer

Pixels = npt.NDArray[Any]
Valid = npt.NDArray[np.bool_]


class Method(Protocol):
    """Takes layers in the plan's order, or the other way round for ``last``."""

    def wants(self, part: Box) -> bool:
        """Whether a further layer can change anything in a part of the box."""

    def add(self, layer: Layer) -> None:
        """Take a layer in."""

    def result(self) -> tuple[Pixels, Valid]:
        """Pixels and which of them have a value, both (bands, height, width)."""


def method_of(name: str, box: Box, bands: int, dtype: str) -> Method:
    """The method called ``name`` for a box of the mosaic."""
    shape = (bands, box.height, box.width)
    if name in ("first", "last"):
        return _First(box, shape, dtype)
    if name in ("min", "max"):
        return _Extreme(box, shape, dtype, name)
    if name == "mean":
        return _Mean(box, shape, dtype)
    return _Count(box) if name == "count" else _Median(box, shape, dtype)


class _First:
    def __init__(self, box: Box, shape: tuple[int, int, int], dtype: str) -> None:
        self._box = box
        self._pixels, self._known = np.zeros(shape, dtype), np.zeros(shape, np.bool_)
        self._taken = np.zeros(shape[1:], np.bool_)

    def wants(self, part: Box) -> bool:
        return not self._taken[part.inside(self._box)].all()

    def add(self, layer: Layer) -> None:
        inside = layer.box.inside(self._box)
        free = layer.valid.any(axis=0) & ~self._taken[inside]
        np.copyto(self._pixels[:, *inside], layer.pixels, where=free)
        np.copyto(self._known[:, *inside], layer.valid, where=free)
        self._taken[inside] |= free

    def result(self) -> tuple[Pixels, Valid]:
        return self._pixels, self._known


class _All:
    """Every layer counts."""

    def wants(self, part: Box) -> bool:
        return True


class _Extreme(_All):
    def __init__(self, box: Box, shape: tuple[int, int, int], dtype: str, name: str) -> None:
        self._box, self._choose = box, np.minimum if name == "min" else np.maximum
        self._pixels, self._known = np.zeros(shape, dtype), np.zeros(shape, np.bool_)

    def add(self, layer: Layer) -> None:
        inside = layer.box.inside(self._box)
        pixels, known = self._pixels[:, *inside], self._known[:, *inside]
        self._choose(pixels, layer.pixels, out=pixels, where=layer.valid & known)
        np.copyto(pixels, layer.pixels, where=layer.valid & ~known)
        known |= layer.valid

    def result(self) -> tuple[Pixels, Valid]:
        return self._pixels, self._known


class _Mean(_All):
    """Sums are exact for integers of up to 32 bits; those of floats are in the plan's order."""

    def __init__(self, box: Box, shape: tuple[int, int, int], dtype: str) -> None:
        self._box, self._dtype = box, dtype
        wide = "int64" if is_integer(dtype) else "complex128" if is_complex(dtype) else "float64"
        self._sum, self._count = np.zeros(shape, wide), np.zeros(shape, np.uint16)

    def add(self, layer: Layer) -> None:
        inside = layer.box.inside(self._box)
        total = self._sum[:, *inside]
        np.add(total, layer.pixels, out=total, where=layer.valid, casting="unsafe")
        self._count[:, *inside] += layer.valid

    def result(self) -> tuple[Pixels, Valid]:
        mean = np.empty(self._sum.shape, self._dtype)
        for band, (total, count) in enumerate(zip(self._sum, self._count, strict=True)):
            mean[band] = self._of(total, np.maximum(count, 1).astype(np.int64))
        return mean, self._count > 0

    def _of(self, total: Pixels, count: Pixels) -> Pixels:
        whole = is_integer(self._dtype)
        mean: Pixels = (2 * total + count) // (2 * count) if whole else total / count
        return mean


class _Count(_All):
    def __init__(self, box: Box) -> None:
        self._box, self._count = box, np.zeros((1, box.height, box.width), np.uint16)

    def add(self, layer: Layer) -> None:
        self._count[0][layer.box.inside(self._box)] += layer.valid.any(axis=0)

    def result(self) -> tuple[Pixels, Valid]:
        return self._count, np.ones(self._count.shape, np.bool_)


class _Median(_All):
    """Of an even number it is the mean of the middle two. Holds all layers of its box."""

    def __init__(self, box: Box, shape: tuple[int, int, int], dtype: str) -> None:
        self._box, self._shape, self._dtype = box, shape, dtype
        self._layers: list[Layer] = []

    def add(self, layer: Layer) -> None:
        self._layers.append(layer)

    def result(self) -> tuple[Pixels, Valid]:
        made, known = np.zeros(self._shape, self._dtype), np.zeros(self._shape, np.bool_)
        if self._layers:
            for band in range(self._shape[0]):
                made[band], known[band] = self._band(band)
        return made, known

    def _band(self, band: int) -> tuple[Pixels, Valid]:
        shape = (len(self._layers), *self._shape[1:])
        values, valid = np.zeros(shape, self._dtype), np.zeros(shape, np.bool_)
        for at, layer in enumerate(self._layers):
            inside = layer.box.inside(self._box)
            values[at][inside], valid[at][inside] = layer.pixels[band], layer.valid[band]
        return _median(values, valid), np.logical_or.reduce(valid, axis=0)


def _median(values: Pixels, valid: Valid) -> Pixels:
    """Over the first axis: what has no value is put behind the rest."""
    highest = np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).max
    values[~valid] = highest
    values.sort(axis=0)
    count = np.maximum(valid.sum(axis=0), 1)
    low = np.take_along_axis(values, ((count - 1) // 2)[None], axis=0)[0]
    high = np.take_along_axis(values, (count // 2)[None], axis=0)[0]
    if values.dtype.kind == "f":
        # Halves cannot overflow; where both are the same, so are they.
        half = values.dtype.type(0.5)
        middle: Pixels = np.where(low == high, low, low * half + high * half)
        return middle
    whole: Pixels = low + _half_up(low, high)
    return whole


def _half_up(low: Pixels, high: Pixels) -> Pixels:
    """Half of the way from ``low`` to ``high``, rounded up, also where it passes half the type."""
    unsigned = np.dtype(f"u{low.dtype.itemsize}")
    way = high.astype(unsigned) - low.astype(unsigned)
    half: Pixels = ((way >> 1) + (way & 1)).astype(low.dtype)
    return half
