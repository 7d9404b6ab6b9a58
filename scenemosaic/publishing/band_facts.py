"""What a mosaic's header says of its bands, for those who read its item and not its pixels."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from rasterio import Env
from rasterio.errors import NotGeoreferencedWarning
from rasterio.io import MemoryFile
from rasterio.session import DummySession

from scenemosaic.image_metadata import SourceMetadata
from scenemosaic.sources.metadata import metadata_of


@dataclass(frozen=True, slots=True)
class BandFacts:
    """One band: ``name`` is its own among the bands of the mosaic; unit "" where none is said."""

    name: str
    description: str = ""
    unit: str = ""
    scale: float = 1.0
    offset: float = 0.0

    def to_json(self) -> dict[str, object]:
        """As a band of a STAC asset; what says nothing is left out."""
        known: dict[str, object] = {"name": self.name}
        if self.description not in ("", self.name):
            known["description"] = self.description
        if self.unit:
            known["unit"] = self.unit
        if (self.scale, self.offset) != (1.0, 0.0) and math.isfinite(self.scale + self.offset):
            known |= {"raster:scale": self.scale, "raster:offset": self.offset}
        return known


@dataclass(frozen=True, slots=True)
class HeaderFacts:
    """The bands, and whether a pixel stands for its ``area`` or for a ``point``."""

    bands: tuple[BandFacts, ...] = ()
    sampling: str = "area"


def header_facts(header: bytes) -> HeaderFacts:
    """What the bytes in front of a TIFF's data say, as GDAL understands them."""
    env = Env(DummySession(), GDAL_PAM_ENABLED="NO")
    with warnings.catch_warnings(), env, MemoryFile(header) as memory:
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        with memory.open(driver="GTiff") as dataset:
            return _facts(metadata_of(dataset))


def _facts(metadata: SourceMetadata) -> HeaderFacts:
    names = band_names(metadata.descriptions)
    columns = (names, metadata.descriptions, metadata.units, metadata.scales, metadata.offsets)
    bands = tuple(BandFacts(*values) for values in zip(*columns, strict=True))
    is_point = dict(dict(metadata.tags).get("", ())).get("AREA_OR_POINT") == "Point"
    return HeaderFacts(bands, "point" if is_point else "area")


def band_names(descriptions: Sequence[str]) -> list[str]:
    """A name for each band: its description, else ``b1``, ``b2``, …; no two are the same."""
    names: list[str] = []
    for number, description in enumerate(descriptions, 1):
        name, plain = description.strip(), f"b{number}"
        if not name or name in names:
            name = plain
        while name in names:
            name += "_"
        names.append(name)
    return names
