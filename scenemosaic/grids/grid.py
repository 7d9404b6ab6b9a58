"""The mosaic's pixel grid, its windows and its levels. Pure arithmetic.

Windows are half-open integer boxes in pixels of level 0. A window's size is a
multiple of ``block * 2**K``, so that no window splits a block at levels 0..K.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from scenemosaic.errors import InputError

Affine6 = tuple[float, float, float, float, float, float]
_NAME: Final = re.compile(r"([0-9]{1,9})_([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Grid:
    """The target grid: CRS as WKT, affine transform (a, b, c, d, e, f), size in pixels."""

    crs_wkt: str
    transform: Affine6
    width: int
    height: int

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise InputError(f"a grid needs at least one pixel, not {self.width} x {self.height}")


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """One window: its place in the window grid, and its pixel box [y0, y1) x [x0, x1)."""

    row: int
    col: int
    y0: int
    x0: int
    y1: int
    x1: int

    @property
    def name(self) -> str:
        """The manifest's sort key and the tile's file stem, such as ``0007_0012``."""
        return window_name(self.row, self.col)

    @property
    def width(self) -> int:
        return self.x1 - self.x0

    @property
    def height(self) -> int:
        return self.y1 - self.y0

    def widened(self, margin: int, height: int, width: int) -> "Window":
        """The box with ``margin`` more pixels on each side, as far as the image goes."""
        y1, x1 = min(self.y1 + margin, height), min(self.x1 + margin, width)
        y0, x0 = max(self.y0 - margin, 0), max(self.x0 - margin, 0)
        return replace(self, y0=y0, x0=x0, y1=y1, x1=x1)


@dataclass(frozen=True, slots=True)
class Tiling:
    """How an image of ``width`` x ``height`` pixels is split into windows of blocks."""

    width: int
    height: int
    window_size: int
    block_size: int

    def __post_init__(self) -> None:
        if self.block_size < 16 or self.block_size % 16:
            raise InputError(f"block size must be a multiple of 16, not {self.block_size}")
        if self.window_size < self.block_size or self.window_size % self.block_size:
            raise InputError(
                f"window size must be a multiple of the block size {self.block_size}, "
                f"not {self.window_size}"
            )

    @property
    def rows(self) -> int:
        return ceil_div(self.height, self.window_size)

    @property
    def cols(self) -> int:
        return ceil_div(self.width, self.window_size)

    def __len__(self) -> int:
        return self.rows * self.cols

    @property
    def last_level(self) -> int:
        """The mosaic's smallest level: the first one that fits in a single block."""
        level = 0
        while max(self.size_at(level)) > self.block_size:
            level += 1
        return level

    @property
    def tile_levels(self) -> int:
        """K: tiles carry the levels 0..K, which the mosaic takes over byte by byte."""
        level = 0
        while level < self.last_level and self.window_size % (self.block_size << (level + 1)) == 0:
            level += 1
        return level

    def size_at(self, level: int) -> tuple[int, int]:
        """(height, width) in pixels at ``level``."""
        return ceil_div(self.height, 1 << level), ceil_div(self.width, 1 << level)

    def window(self, number: int) -> Window:
        """The window by its number, row-major from 0."""
        if not 0 <= number < len(self):
            raise InputError(f"window number {number} is not within 0..{len(self) - 1}")
        row, col = divmod(number, self.cols)
        y0, x0 = row * self.window_size, col * self.window_size
        y1, x1 = min(y0 + self.window_size, self.height), min(x0 + self.window_size, self.width)
        return Window(row, col, y0, x0, y1, x1)

    def windows(self) -> Iterator[Window]:
        """All windows in the order of their numbers."""
        return (self.window(number) for number in range(len(self)))

    def number(self, name: str) -> int:
        """The number of the window called ``name`` (``0007_0012``, or ``7_12`` for short)."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise InputError(f"no window is called {name!r:.80}: a name is like 0007_0012")
        row, col = match.groups()
        if int(row) >= self.rows or int(col) >= self.cols:
            raise InputError(
                f"the plan has no window {name}: it has {self.rows} x {self.cols}, 0000_0000 to "
                f"{self.window(len(self) - 1).name}"
            )
        return int(row) * self.cols + int(col)


def window_name(row: int, col: int) -> str:
    """``0007_0012``; wider from 10,000 on."""
    return f"{row:04d}_{col:04d}"


def ceil_div(value: int, divisor: int) -> int:
    """``ceil(value / divisor)`` in integers."""
    return -(-value // divisor)
