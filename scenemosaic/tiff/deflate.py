"""DEFLATE blocks by the cheapest way that makes few enough bytes, as a sample of the pixels says.

ISA-L at its level 1 takes about a fifth of the CPU of libdeflate at level 6, at its level 3 a
third, libdeflate at level 1 half of it. On noisy imagery none makes more bytes, and often fewer: a
match found in noise takes more room than the bytes that it stands for. On smooth data they make
up to 60 % more. So a sample of a tile's blocks is compressed in each way, and what it says
holds for all of them. Any reader of DEFLATE reads all of them, and all may stand in one mosaic.

With a level there are at most as many bytes as libdeflate makes at it. Without one, effort
``balanced`` allows 2 % more than its level 6; ``fast`` is ISA-L at level 1 throughout, ``small``
whatever makes the fewest bytes, libdeflate at its level 9 among them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import imagecodecs
from isal import isal_zlib

LIBDEFLATE_LEVEL: Final = 6
SMALL_LEVEL: Final = 9
# The share of bytes, to libdeflate's, that is few enough: a little more is worth a quarter of
# the CPU; where a level is asked for it is a little less, since the sample is not all.
_WORTH: Final = 1.02
_SURE: Final = 0.998

# Rows of blocks, one below the other, made only where they are looked at.
Sample = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Compressor:
    """Makes a block of DEFLATE of any contiguous buffer; ``name`` is what manifest rows call it."""

    name: str
    encode: Callable[[Any], Any]

    def __call__(self, block: Any) -> bytes:
        return bytes(self.encode(block))


# By a sample, the level that was asked for, and the effort.
Choice = Callable[[Sample, int | None, str], Compressor]


def libdeflate(level: int) -> Compressor:
    """Blocks by libdeflate at ``level`` (1 to 12; 0 compresses nothing), as GDAL makes them."""
    return Compressor(f"libdeflate {level}", lambda block: imagecodecs.deflate_encode(block, level))


def isal(level: int) -> Compressor:
    """Blocks by ISA-L at ``level`` (0 to 3)."""
    return Compressor(f"isa-l {level}", lambda block: isal_zlib.compress(block, level))


FASTEST: Final = isal(1)
# The cheapest first. ISA-L's level 2 takes hardly less than its level 3.
CHEAP: Final = (FASTEST, isal(3), libdeflate(1))


def chosen(sample: Sample, level: int | None = None, effort: str = "balanced") -> Compressor:
    """The compressor for pixels like ``sample``; nothing else decides."""
    if effort == "fast":
        return FASTEST
    if effort == "small":
        return _smallest(sample())
    rows, wanted = sample(), libdeflate(LIBDEFLATE_LEVEL if level is None else level)
    most_bytes = len(wanted(rows)) * (_WORTH if level is None else _SURE)
    others = (one for one in CHEAP if one.name != wanted.name)
    return next((one for one in others if len(one(rows)) <= most_bytes), wanted)


def _smallest(rows: Any) -> Compressor:
    """What makes the fewest bytes of ``rows``; of equals the cheapest."""
    return min((*CHEAP, libdeflate(SMALL_LEVEL)), key=lambda one: len(one(rows)))


def unless_asked(sample: Sample, level: int | None, effort: str) -> Compressor:
    """The fastest, or libdeflate at the level: for what is too little to be worth a look."""
    if effort != "balanced":
        return chosen(sample, level, effort)
    return FASTEST if level is None else libdeflate(level)


class FirstChoice:
    """A choice for all levels of one tile: what the first sample says holds for the others.

    Where a level or another effort is asked for, each has a sample of its own: smaller ones are
    smoother. ``names`` are those of the compressors that were chosen, each once.
    """

    def __init__(self) -> None:
        self._chosen: dict[str, Compressor] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._chosen)

    def __call__(self, sample: Sample, level: int | None, effort: str) -> Compressor:
        if self._chosen and level is None and effort == "balanced":
            return next(iter(self._chosen.values()))
        one = chosen(sample, level, effort)
        return self._chosen.setdefault(one.name, one)
