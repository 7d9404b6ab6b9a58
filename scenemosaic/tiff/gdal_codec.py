"""Blocks whose streams GDAL makes: most LERC, JPEG, WebP, and samples of odd bits.

GDAL writes a level as a GeoTIFF in memory; its blocks are taken out as they are.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import rasterio
from rasterio.io import MemoryFile
from rasterio.session import DummySession

from scenemosaic.grids.grid import ceil_div
from scenemosaic.tiff import ifd

Pixels = npt.NDArray[Any]


def encode_blocks(pixels: Pixels, block_size: int, creation: dict[str, Any]) -> list[bytes | None]:
    """Compressed blocks of ``pixels`` (bands, height, width), by plane, then row-major.

    ``creation`` are the rasterio options of the job's template, so that tables
    that stand in its directory serve these blocks.
    """
    _, height, width = pixels.shape
    down = ceil_div(height, block_size) * block_size - height
    across = ceil_div(width, block_size) * block_size - width
    padded = np.pad(pixels, ((0, 0), (0, down), (0, across)), mode="edge")
    size = {"height": padded.shape[1], "width": padded.shape[2]}
    with MemoryFile() as memory:
        with (
            rasterio.Env(DummySession(), GDAL_PAM_ENABLED=False),
            memory.open(**{**creation, **size}) as dataset,
        ):
            dataset.write(padded)
        return _blocks(memory.getbuffer())


def _blocks(data: memoryview) -> list[bytes | None]:
    directory = ifd.parse(bytes(data))[0]
    offsets = directory[ifd.TILE_OFFSETS].values()
    counts = directory[ifd.TILE_BYTE_COUNTS].values()
    return [
        bytes(data[int(offset) : int(offset) + int(count)]) if count else None
        for offset, count in zip(offsets, counts, strict=True)
    ]
