"""DEFLATE blocks by the cheaper of two libraries, chosen by what a sample of the pixels says.

ISA-L at its level 3 takes about a quarter of the CPU of libdeflate at level 6. On noisy
imagery it makes no more bytes; on smooth data it makes up to 60 % more. So one
block of a tile is compressed by both, and what it says holds for all the others.
Any reader of DEFLATE reads both, and both may stand in one mosaic. That is the
balanced effort; ``fast`` is ISA-L throughout, ``small`` the smaller of ISA-L and libdeflate
at its level 9.
"""

from collections.abc import Callable
from typing import Any, Final

import imagecodecs
from isal import isal_zlib

LIBDEFLATE_LEVEL: Final = 6
SMALL_LEVEL: Final = 9
ISAL_LEVEL: Final = 3
# The share of more bytes that a quarter of the CPU is worth.
_WORTH: Final = 1.02

Compressor = Callable[[Any], bytes]
Choice = Callable[[Any], Compressor]


def libdeflate(level: int) -> Compressor:
    """Blocks by libdeflate at ``level`` (0 to 12), as GDAL makes them."""
    return lambda block: bytes(imagecodecs.deflate_encode(block, level))


def isal(block: Any) -> bytes:
    """A block by ISA-L."""
    return bytes(isal_zlib.compress(block, ISAL_LEVEL))


def chosen(sample: Any) -> Compressor:
    """The compressor for pixels like ``sample``, a contiguous block; ``sample`` alone decides."""
    small = libdeflate(LIBDEFLATE_LEVEL)
    return isal if len(isal(sample)) <= _WORTH * len(small(sample)) else small


def smallest(sample: Any) -> Compressor:
    """The compressor that makes the fewest bytes of ``sample``: on noise it is ISA-L."""
    small = libdeflate(SMALL_LEVEL)
    return isal if len(isal(sample)) <= len(small(sample)) else small


def cheapest(sample: Any) -> Compressor:
    """ISA-L whatever the pixels: for what is too little of a file to be worth a look."""
    return isal


class FirstChoice:
    """A choice for all levels of one tile: what the first sample says holds for the others."""

    def __init__(self) -> None:
        self._compressor: Compressor | None = None

    def __call__(self, sample: Any) -> Compressor:
        if self._compressor is None:
            self._compressor = chosen(sample)
        return self._compressor
