"""Which versions made an object: recorded in every row, since bytes depend on them."""

import functools
from collections.abc import Mapping
from typing import Final

import imagecodecs
import numpy
import rasterio

from scenemosaic import __version__

# What brings libjpeg and libwebp along.
LOSSY_CODEC: Final = "gdal"


@functools.cache
def software_versions() -> Mapping[str, str]:
    """Names and versions of what decides bytes."""
    return {
        "scenemosaic": __version__,
        "gdal": rasterio.__gdal_version__,
        "rasterio": rasterio.__version__,
        "imagecodecs": imagecodecs.__version__,
        "numpy": numpy.__version__,
    }
