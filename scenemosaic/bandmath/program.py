"""What is made of one source's bands, with all that decides it."""

from dataclasses import dataclass

from scenemosaic.bandmath.computed import Computed
from scenemosaic.canonical import Number


@dataclass(frozen=True, slots=True)
class SourceBands:
    """What a source says of its bands. ``alpha`` is the number of its transparency, if any."""

    nodata: Number | None
    scales: tuple[float, ...]
    offsets: tuple[float, ...]
    alpha: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """What the mosaic holds: its type, and what stands for no value (a mask, too, or neither)."""

    dtype: str
    nodata: Number | None
    has_mask: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """How the mosaic's bands are made of a source's."""

    computed: Computed
    source: SourceBands
    target: Target

    def read(self) -> tuple[int, ...]:
        """The numbers of the bands to read, ascending."""
        alpha = () if self.source.alpha is None else (self.source.alpha,)
        return tuple(sorted({*self.computed.read(), *alpha}))


def same_nodata(one: Number | None, other: Number | None) -> bool:
    """Whether two images have the same nodata (NaN being one)."""
    return one == other or (one != one and other != other)
