"""Which versions made an object: recorded in every row, since bytes depend on them."""

import functools
from collections.abc import Mapping
from typing import Final

import imagecodecs
import isal
import numpy
import rasterio

from scenemosaic import __version__

# What brings libjpeg and libwebp along.
LOSSY_CODEC: Final = "gdal"
DEFLATE: Final = "deflate"


@functools.cache
def software_versions() -> Mapping[str, str]:
    """Names and versions of what decides bytes."""
    return {
        "scenemosaic": __version__,
        "gdal": rasterio.__gdal_version__,
        "rasterio": rasterio.__version__,
        "imagecodecs": imagecodecs.__version__,
        "isal": isal.__version__,
        "numpy": numpy.__version__,
    }


@functools.lru_cache(maxsize=64)
def tile_software(deflaters: tuple[str, ...]) -> Mapping[str, str]:
    """The versions, and which compressors a sample chose for the tile's DEFLATE blocks."""
    if not deflaters:
        return software_versions()
    return {**software_versions(), DEFLATE: ", ".join(deflaters)}
