"""DEFLATE blocks by the cheapest way that makes few enough bytes, as a sample of the pixels says.

ISA-L at its level 3 takes about a quarter of the CPU of libdeflate at level 6, libdeflate at
level 1 half of it. On noisy imagery neither makes more bytes, and level 1 often fewer: a
match found in noise takes more room than the bytes that it stands for. On smooth data they make
up to 60 % more. So a sample of a tile's blocks is compressed in each way, and what it says
holds for all of them. Any reader of DEFLATE reads all of them, and all may stand in one mosaic.

With a level there are at most as many bytes as libdeflate makes at it. Without one, effort
``balanced`` allows 2 % more than its level 6; ``fast`` is ISA-L throughout, ``small`` whatever
makes the fewest bytes, libdeflate at its level 9 among them.
"""

from collections.abc import Callable
from typing import Any, Final

import imagecodecs
from isal import isal_zlib

LIBDEFLATE_LEVEL: Final = 6
SMALL_LEVEL: Final = 9
ISAL_LEVEL: Final = 3
# The share of bytes, to libdeflate's, that is few enough: a little more is worth a quarter of
# the CPU; where a level is asked for it is a little less, since the sample is not all.
_WORTH: Final = 1.02
_SURE: Final = 0.998

Compressor = Callable[[Any], bytes]
# Rows of blocks, one below the other, made only where they are looked at.
Sample = Callable[[], Any]
# By a sample and the level that was asked for.
Choice = Callable[[Sample, int | None], Compressor]


def libdeflate(level: int) -> Compressor:
    """Blocks by libdeflate at ``level`` (1 to 12; 0 compresses nothing), as GDAL makes them."""
    return lambda block: bytes(imagecodecs.deflate_encode(block, level))


def isal(block: Any) -> bytes:
    """A block by ISA-L."""
    return bytes(isal_zlib.compress(block, ISAL_LEVEL))


def chosen(sample: Sample, level: int | None = None) -> Compressor:
    """The compressor for pixels like ``sample``; nothing else decides."""
    rows, wanted = sample(), libdeflate(LIBDEFLATE_LEVEL if level is None else level)
    most_bytes = len(wanted(rows)) * (_WORTH if level is None else _SURE)
    return next((one for one in _cheaper(level) if len(one(rows)) <= most_bytes), wanted)


def smallest(sample: Sample) -> Compressor:
    """The compressor that makes the fewest bytes of ``sample``; of equals the cheapest."""
    rows = sample()
    return min((*_cheaper(SMALL_LEVEL), libdeflate(SMALL_LEVEL)), key=lambda one: len(one(rows)))


def unless_asked(sample: Sample, level: int | None) -> Compressor:
    """ISA-L, or libdeflate at the level: for what is too little of a file to be worth a look."""
    return isal if level is None else libdeflate(level)


def _cheaper(level: int | None) -> tuple[Compressor, ...]:
    """What takes less CPU than libdeflate at a level, the cheapest first."""
    return (isal,) if level == 1 else (isal, libdeflate(1))


class FirstChoice:
    """A choice for all levels of one tile: what the first sample says holds for the others.

    Where a level is asked for each has a sample of its own: smaller ones are smoother.
    """

    def __init__(self) -> None:
        self._compressor: Compressor | None = None

    def __call__(self, sample: Sample, level: int | None) -> Compressor:
        if self._compressor is None or level is not None:
            self._compressor = chosen(sample, level)
        return self._compressor
