"""The lattice of a mosaic's pixels: its CRS, their size, and where they begin. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rasterio.crs import CRS

from scenemosaic.compositing.placing import aligned_offset, diagonal
from scenemosaic.compositing.points import same_crs
from scenemosaic.errors import InputError
from scenemosaic.grids.crs_text import code_or_wkt, normal_wkt, wkt_of
from scenemosaic.grids.grid import Affine6, Grid
from scenemosaic.plans.plan import PlanOptions

_DIGITS: Final = 5


@dataclass(frozen=True, slots=True)
class Lattice:
    """Endless pixels, the one at (0, 0) beginning at the transform's origin."""

    crs_wkt: str
    transform: Affine6


def lattice_of(sources: Sequence[Grid], options: PlanOptions, notes: list[str]) -> Lattice:
    """As asked for, else the first source's. Where it is that of sources, they all agree on it."""
    first = sources[0]
    crs = first.crs_wkt if options.crs is None else asked_crs(options.crs)
    crs = next((one.crs_wkt for one in sources if same_crs(one.crs_wkt, crs)), crs)
    if options.crs is None and len({source.crs_wkt for source in sources}) > 1:
        notes.append(
            f"the sources have several CRSs: the first one's, {shown_crs(crs)}, is taken (--crs "
            "chooses another)"
        )
    within = [source for source in sources if source.crs_wkt == crs]
    plain = crs == first.crs_wkt and options.resolution is None and options.bounds is None
    if plain and all(_on(first, source) for source in sources):
        return Lattice(crs, _anchor(first, sources))
    x, y = _pixel_size(first, within, crs, options, notes)
    like = next((source for source in within if _size_of(source) == (x, y)), None)
    if like is not None:
        return Lattice(crs, _anchor(like, within))
    return Lattice(crs, (x, 0.0, 0.0, 0.0, -y, 0.0))


def asked_crs(text: str) -> str:
    """The WKT of a CRS that a user names, as that of a file is spelled."""
    try:
        crs = CRS.from_wkt(wkt_of(text))
    except InputError:
        raise InputError(
            f"--crs {text:.80} is no CRS: give a code such as EPSG:32632, or WKT"
        ) from None
    if not (crs.is_geographic or crs.is_projected):
        raise InputError(f"--crs {text:.80} is neither geographic nor projected")
    return normal_wkt(crs)


def _on(first: Grid, source: Grid) -> bool:
    same = source.crs_wkt == first.crs_wkt
    return same and aligned_offset(first.transform, source) is not None


def _anchor(first: Grid, sources: Sequence[Grid]) -> Affine6:
    """The transform of the first of all pixels on the lattice: to the last bit the same, in
    whichever order the sources come."""
    on = [source for source in sources if source is first or _on(first, source)]
    return min((_place(first, source), source.transform) for source in on)[1]


def _place(first: Grid, source: Grid) -> tuple[int, int]:
    place = aligned_offset(first.transform, source)
    return (0, 0) if place is None else place


def _size_of(grid: Grid) -> tuple[float, float] | None:
    """The pixel's width and height where its sides follow the axes."""
    a, b, _c, d, e, _f = grid.transform
    return None if b or d else (abs(a), abs(e))


def _pixel_size(
    first: Grid, within: Sequence[Grid], crs: str, options: PlanOptions, notes: list[str]
) -> tuple[float, float]:
    """As asked for, else that of the first source in the mosaic's CRS, else what suits."""
    if options.resolution is not None:
        return options.resolution[0], options.resolution[-1]
    if within:
        a, b, _c, d, e, _f = within[0].transform
        turned = _rounded(math.hypot(a, d)), _rounded(math.hypot(b, e))
        return _size_of(within[0]) or turned
    size = _suggested(first, crs)
    notes.append(
        f"pixels of {size:g} in {shown_crs(crs)} suit the first source (--resolution chooses "
        "others)"
    )
    return size, size


def _suggested(first: Grid, crs: str) -> float:
    """The pixel in another CRS that keeps the source's detail along its diagonal; a short number.

    GDAL does the same, but where a source crosses the antimeridian.
    """
    size = diagonal(crs, first) / math.hypot(first.width, first.height)
    if not is_positive(size):
        raise InputError(f"it has no place, or no end, in {shown_crs(crs)}: give another --crs")
    return _rounded(size)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def shown_crs(crs_wkt: str) -> str:
    """A CRS in a message: its code, else the beginning of its WKT."""
    text = code_or_wkt(crs_wkt)
    return text if len(text) < 40 else text[:40] + "…"


def is_positive(value: float) -> bool:
    return math.isfinite(value) and value > 0
