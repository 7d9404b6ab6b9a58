"""What an image says of itself beside its pixels, as values. Pure."""

from dataclasses import dataclass

from scenemosaic.grids.grid import Affine6

Pairs = tuple[tuple[str, str], ...]
Namespaces = tuple[tuple[str, Pairs], ...]
Colors = tuple[tuple[int, tuple[int, int, int, int]], ...]


@dataclass(frozen=True, slots=True)
class SourceMetadata:
    """All metadata that a mosaic takes over. Tuples in band order; empty units and names are "".

    ``tags`` holds (namespace, pairs), the default namespace as "".
    """

    crs_wkt: str
    transform: Affine6
    nodata: float | None
    tags: Namespaces
    band_tags: tuple[Namespaces, ...]
    descriptions: tuple[str, ...]
    units: tuple[str, ...]
    scales: tuple[float, ...]
    offsets: tuple[float, ...]
    colorinterp: tuple[str, ...]
    colormaps: tuple[Colors | None, ...]
