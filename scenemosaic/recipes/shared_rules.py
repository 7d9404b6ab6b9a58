"""What sources may share: pure checks, as a file of so many bands holds it."""

from typing import Final

from rasterio.enums import ColorInterp

from scenemosaic.errors import InputError
from scenemosaic.image_metadata import Colors
from scenemosaic.recipes.merge import Shared

_WHERE: Final = "recipe.merge.shared"
_BY_BAND: Final = ("band_tags", "descriptions", "units", "scales", "offsets", "colormaps")
_VALUES, _COLOURS = range(1 << 16), range(-(1 << 15), 1 << 15)


def check_shared(shared: Shared, bands: int) -> None:
    """InputError naming the field that a file of ``bands`` bands cannot hold."""
    counts = {name: len(getattr(shared, name)) for name in _BY_BAND}
    wrong = [name for name, count in counts.items() if count not in (0, bands)]
    if len(shared.colorinterp) != bands:
        wrong.append("colorinterp")
    if wrong:
        raise InputError(f"{_WHERE}.{wrong[0]} must say something of each of {bands} bands")
    unknown = [kind for kind in shared.colorinterp if kind not in ColorInterp.__members__]
    if unknown:
        raise InputError(f"{_WHERE}.colorinterp: {unknown[0]!r:.80} is no colour interpretation")
    if any(colors is not None for colors in shared.colormaps[1:]):
        raise InputError(f"{_WHERE}.colormaps: only the first band has one in a GeoTIFF")
    if not all(_holds(colors) for colors in shared.colormaps if colors is not None):
        raise InputError(f"{_WHERE}.colormaps: a value or a colour is out of range")


def _holds(colors: Colors) -> bool:
    return all(value in _VALUES and all(c in _COLOURS for c in rgba) for value, rgba in colors)
