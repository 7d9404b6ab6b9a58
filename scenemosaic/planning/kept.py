"""Whether a GeoTIFF keeps what a source says of itself, and what lies beside it unread."""

from pathlib import Path
from typing import Any

import rasterio
from rasterio._err import CPLE_BaseError
from rasterio.io import MemoryFile
from rasterio.session import DummySession

from scenemosaic.compositing.points import same_crs
from scenemosaic.errors import InputError
from scenemosaic.grids.crs_text import code_or_wkt, normal_wkt
from scenemosaic.image_metadata import SourceMetadata
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.sources.locations import is_local
from scenemosaic.sources.metadata import apply_metadata, differences, metadata_of
from scenemosaic.tiff.structure import MAX_TAGS_BYTES

# What is longer is no code but WKT.
_CODE_CHARS = 40
_FIELD_NAMES = {"crs_wkt": "CRS", "colorinterp": "colour interpretation", "colormaps": "colour map"}


def check_kept(metadata: SourceMetadata, recipe: Recipe) -> None:
    """Put the metadata on a small GeoTIFF and compare what comes back: nothing gets lost unseen."""
    options: dict[str, Any] = {"driver": "GTiff", "width": 16, "height": 16, "sparse_ok": True}
    options |= {"count": recipe.bands, "dtype": recipe.dtype, "interleave": recipe.interleave}
    if recipe.nbits is not None:
        options["nbits"] = recipe.nbits  # a colour map has as many entries as these can tell
    with rasterio.Env(DummySession(), GDAL_PAM_ENABLED="NO"), MemoryFile() as memory:
        _put_on(memory, options, metadata)
        if (size_bytes := memory.getbuffer().nbytes) > MAX_TAGS_BYTES:
            raise InputError(
                f"its metadata takes {size_bytes / 2**20:.1f} MiB, and each tile carries it, at "
                f"most {MAX_TAGS_BYTES >> 20} MiB: remove some first"
            )
        with memory.open() as dataset:
            lost = differences(metadata, metadata_of(dataset))
    if lost:
        names = ", ".join(_FIELD_NAMES.get(field, field.replace("_", " ")) for field in lost)
        raise InputError(f"its {names} would change in a GeoTIFF: remove or simplify it first")


def _put_on(memory: MemoryFile, options: dict[str, Any], metadata: SourceMetadata) -> None:
    try:
        with memory.open(**options, transform=rasterio.Affine.translation(1, 1)) as dataset:
            apply_metadata(dataset, metadata)
    except CPLE_BaseError as error:
        # GDAL names its file first, and here that is one in memory.
        said = error.errmsg.removeprefix(f"{Path(memory.name).name}, ").rstrip(".")
        raise InputError(
            f"what it says of itself is not kept in a GeoTIFF ({said}): simplify it first"
        ) from error


def check_crs(asked: str, wkt: str) -> None:
    """Raises InputError, naming ``asked``, where a GeoTIFF gives back another CRS than ``wkt``."""
    profile = {"driver": "GTiff", "width": 16, "height": 16, "count": 1, "dtype": "uint8"}
    with rasterio.Env(DummySession(), GDAL_PAM_ENABLED="NO"), MemoryFile() as memory:
        with memory.open(**profile, crs=wkt, transform=rasterio.Affine.translation(1, 1)):
            pass
        with memory.open() as dataset:
            back, unit = normal_wkt(dataset.crs), dataset.units[0]
    if unit:
        raise InputError(
            f"{asked} has heights, whose {unit} a GeoTIFF takes for the unit of its pixels: give "
            "the horizontal CRS alone"
        )
    if not same_crs(back, wkt):
        code = code_or_wkt(back)
        instead = "another one" if len(code) > _CODE_CHARS else code
        raise InputError(f"{asked} is not kept in a GeoTIFF, which has {instead}: give {instead}")


def side_files(location: str) -> list[str]:
    """Notes on files beside a local source that GDAL reads by default: no part of its pin."""
    if not is_local(location):
        return []
    if Path(f"{location}.msk").exists():
        raise InputError(
            f"{location}: its mask lies in a file beside it ({Path(location).name}.msk), and a pin "
            "covers one file: put it inside with gdal_translate -mask mask "
            "--config GDAL_TIFF_INTERNAL_MASK YES"
        )
    beside = [name for name in (f"{location}.aux.xml",) if Path(name).exists()]
    return [f"{Path(name).name} beside it is not read" for name in beside]
