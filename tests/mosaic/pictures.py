"""Images to make mosaics of, and what GDAL's COG driver makes of the same."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import rasterio
import rasterio.shutil

Array = npt.NDArray[Any]


def noise(dtype: str, shape: tuple[int, int, int], seed: int = 0) -> Array:
    """Noisy pixels over most of the type's range, none of them 0."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "f":
        return (rng.normal(size=shape) * 1000).astype(dtype)
    if kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    top = min(60_000, int(np.iinfo(dtype).max))
    return rng.integers(1, top, size=shape).astype(dtype)


def gdal_cog(
    path: Path,
    pixels: Array,
    *,
    resampling: str,
    block_size: int,
    nodata: Any,
    mask: Array | None,
    compress: str = "DEFLATE",
) -> Path:
    """What GDAL's COG driver makes of an image.

    GDAL computes a level from the one before it only where a chunk fits its memory
    limit, and from level 0 otherwise; the limit is raised so that it always does.
    """
    bands, height, width = pixels.shape
    source = path.with_suffix(".source.tif")
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True, GDAL_OVR_CHUNK_MAX_SIZE=str(1 << 30)):
        with rasterio.open(
            source, "w", driver="GTiff", count=bands, height=height, width=width,
            dtype=pixels.dtype, nodata=nodata, tiled=True, blockxsize=256, blockysize=256,
            transform=rasterio.Affine.translation(5, 5), crs="EPSG:32631",
        ) as dataset:  # fmt: skip
            dataset.write(pixels)
            if mask is not None:
                dataset.write_mask(mask)
        rasterio.shutil.copy(
            source, path, driver="COG", compress=compress, blocksize=block_size,
            overview_resampling=resampling.replace("_", ""),
        )  # fmt: skip
    return path


def levels_of(path: Path) -> list[tuple[Array, Array]]:
    """Pixels and mask of every level, level 0 first."""
    with rasterio.open(path) as dataset:
        count = len(dataset.overviews(1))
        levels = [(dataset.read(), dataset.read_masks(1))]
    for level in range(count):
        with rasterio.open(path, overview_level=level) as dataset:
            levels.append((dataset.read(), dataset.read_masks(1)))
    return levels


def same(one: Array, other: Array) -> bool:
    """Equal shapes and pixels, NaN equal to NaN."""
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
