"""Samples of fewer bits than their type has: kept so, at every level, as GDAL keeps them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import rasterio.shutil

from tests.lengths import IS_FULL
from tests.mosaic.memory import recipe_for, write_mosaic
from tests.mosaic.pictures import levels_of, same
from tests.validators import assert_valid_cog

CASES = [
    ("uint8", 1, 1),
    ("uint8", 3, 3),
    ("uint16", 9, 1),
    ("uint16", 12, 3),
    ("uint16", 15, 2),
    ("uint32", 20, 1),
    ("uint32", 31, 2),
]
CODECS = ("deflate", "zstd", "lzw", "none")
# Each of them with two codecs, each codec with bits of each type; in full with all.
COMPRESSED = [
    (*case, codec)
    for row, case in enumerate(CASES)
    for column, codec in enumerate(CODECS)
    if (row + column) % 2 == 0 or IS_FULL
]


def extremes(dtype: str, bits: int, shape: tuple[int, int, int]) -> Any:
    """Many of the least and the greatest value, so that a kernel would pass beyond them."""
    rng = np.random.default_rng(bits)
    pixels = rng.integers(0, 2**bits, shape, dtype)
    edge = rng.random(shape) < 0.7
    pixels[edge] = rng.choice(np.array([0, 2**bits - 1], dtype), int(edge.sum()))
    pixels[:, :128, :128] = 0
    return pixels


def bits_in(path: Path) -> str | None:
    with rasterio.open(path) as dataset:
        found: str | None = dataset.tags(1, ns="IMAGE_STRUCTURE").get("NBITS")
    return found


@pytest.mark.parametrize(("dtype", "bits", "bands", "compress"), COMPRESSED)
def test_every_sample_and_their_bits_are_kept(
    tmp_path: Path, dtype: str, bits: int, bands: int, compress: str
) -> None:
    pixels = extremes(dtype, bits, (bands, 300, 419))
    options = {"block_size": 128, "compress": compress, "predictor": 1, "nbits": bits}
    for interleave in ("pixel", "band")[:bands]:
        recipe = recipe_for(pixels, 256, interleave=interleave, **options)
        path = write_mosaic(tmp_path / f"{interleave}.tif", pixels, recipe)
        assert same(levels_of(path)[0][0], pixels)
        assert bits_in(path) == str(bits)
        assert_valid_cog(path)


@pytest.mark.parametrize("resampling", ["nearest", "average", "mode", "rms", "cubic", "lanczos"])
@pytest.mark.parametrize(("dtype", "bits"), [("uint8", 4), ("uint16", 12), ("uint32", 20)])
def test_every_level_equals_gdal_whatever_the_windows(
    tmp_path: Path, dtype: str, bits: int, resampling: str
) -> None:
    pixels = extremes(dtype, bits, (2, 512, 512))
    theirs = levels_of(_gdal_cog(tmp_path, pixels, bits, resampling))
    for window in (128, 256, 512):
        recipe = recipe_for(
            pixels, window, block_size=128, predictor=1, nbits=bits, resampling=resampling
        )
        ours = levels_of(write_mosaic(tmp_path / f"{window}.tif", pixels, recipe))
        assert len(ours) == len(theirs) == 3
        assert all(same(a[0], b[0]) for a, b in zip(ours, theirs, strict=True)), window


def _gdal_cog(folder: Path, pixels: Any, bits: int, resampling: str) -> Path:
    source, made = folder / "source.tif", folder / "gdal.tif"
    with rasterio.Env(GDAL_OVR_CHUNK_MAX_SIZE=str(1 << 30)):
        with rasterio.open(
            source, "w", driver="GTiff", count=len(pixels), height=512, width=512, nbits=bits,
            dtype=pixels.dtype, transform=rasterio.Affine.translation(5, 5), crs="EPSG:32631",
        ) as dataset:  # fmt: skip
            dataset.write(pixels)
        rasterio.shutil.copy(
            source, made, driver="COG", blocksize=128, overview_resampling=resampling, nbits=bits
        )
    return made
