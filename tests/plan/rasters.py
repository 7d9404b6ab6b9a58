"""Small rasters made for a test, among them those that no driver would write."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import rasterio
from rasterio.transform import Affine

from scenemosaic.tiff import ifd
from scenemosaic.tiff.ifd import Tag

TRANSFORM = Affine(10, 0, 500_000, 0, -10, 4_000_000)
ASCII = 2
# Projected, pixel is area, EPSG:32631.
_GEO_KEYS = (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32631)


def write_raster(path: Path, pixels: npt.NDArray[Any] | None = None, **options: Any) -> str:
    """A GeoTIFF in UTM zone 31; ``options`` go to rasterio."""
    if pixels is None:
        pixels = np.arange(3 * 40 * 50).reshape(3, 40, 50).astype("uint16")
    profile: dict[str, Any] = {"driver": "GTiff", "crs": "EPSG:32631", "transform": TRANSFORM}
    profile |= {"count": len(pixels), "dtype": pixels.dtype}
    profile |= {"height": pixels.shape[1], "width": pixels.shape[2]} | options
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **profile) as dataset:
        dataset.write(pixels)
    return str(path)


def handmade(
    path: Path, tags: Mapping[int, Tag | None], *, width: int = 16, height: int = 16
) -> str:
    """An uncompressed or broken TIFF of one strip, all zeros, whose tags are given or replaced.

    None leaves a tag out.
    """
    data = bytes(width * height * 8) if width * height < 1 << 16 else bytes(64)
    shorts = {258: 8, 259: 1, 262: 1, 277: 1, 284: 1, 339: 1}
    directory = {code: Tag.of(ifd.SHORT, [value]) for code, value in shorts.items()}
    directory |= {
        256: Tag.of(ifd.LONG, [width]),
        257: Tag.of(ifd.LONG, [height]),
        273: Tag.of(ifd.LONG, [8]),
        278: Tag.of(ifd.LONG, [height]),
        279: Tag.of(ifd.LONG, [len(data)]),
        33550: Tag.of(ifd.DOUBLE, [10, 10, 0]),
        33922: Tag.of(ifd.DOUBLE, [0, 0, 0, 5e5, 4e6, 0]),
        34735: Tag.of(ifd.SHORT, _GEO_KEYS),
    }
    directory |= {code: tag for code, tag in tags.items() if tag is not None}
    directory = {code: tag for code, tag in directory.items() if tags.get(code, tag) is not None}
    start = 8 + len(data)
    header = struct.pack("<2sHI", b"II", 42, start)
    path.write_bytes(header + data + ifd.write([directory], start, big=False))
    return str(path)


def text_tag(text: str) -> Tag:
    """An ASCII tag."""
    data = text.encode("ascii") + b"\0"
    return Tag(ASCII, len(data), data)
