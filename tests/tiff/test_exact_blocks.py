"""The same pixels become the same bytes, and a sparse block reads as its pixels to the last bit."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio

from scenemosaic.tiff.codec import BlockCoding, encode_blocks, is_made_here
from tests.mosaic.memory import recipe_for, write_mosaic
from tests.mosaic.pictures import noise, same

NAN = float("nan")


def _coding(**options: Any) -> BlockCoding:
    kept = {"block_size": 64, "compress": "lerc", "level": None, "predictor": 1, "fill": 0}
    return BlockCoding(**{**kept, "interleave": "pixel", **options})


def _soil_memory(value: int) -> None:
    """Freed memory that is not empty: what malloc hands out next, of any size of a block."""
    kept = [ctypes.create_string_buffer(bytes([value]) * size) for size in range(4000, 90_000, 200)]
    kept.clear()


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("bands", [1, 3])
def test_lerc_of_bytes_is_the_same_each_time(dtype: str, bands: int) -> None:
    # Few values: only Huffman codes end with a word of which no bit is said.
    pixels = (np.random.default_rng(3).normal(50, 6, (bands, 128, 100))).astype(dtype)
    recipe = recipe_for(pixels, 64, block_size=64, compress="lerc")
    assert is_made_here(recipe.compress, recipe.dtype)
    made = set()
    for value in range(1, 9):
        _soil_memory(value)
        made.add(tuple(encode_blocks(pixels, _coding())))
    assert len(made) == 1


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("bands", [1, 2, 5])
@pytest.mark.parametrize("interleave", ["pixel", "band"])
def test_every_byte_comes_back_from_lerc(
    tmp_path: Path, dtype: str, bands: int, interleave: str
) -> None:
    pixels = noise(dtype, (bands, 100, 130))
    pixels[:, :64, :64] = 0
    recipe = recipe_for(pixels, 64, block_size=64, compress="lerc", interleave=interleave)
    with rasterio.open(write_mosaic(tmp_path / "m.tif", pixels, recipe)) as dataset:
        assert same(dataset.read(), pixels)


@pytest.mark.parametrize("nodata", [None, 0.0, -0.0, NAN])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_whole_blocks_of_odd_numbers_survive(tmp_path: Path, dtype: str, nodata: Any) -> None:
    odd = [0.0, -0.0, complex(0, -0.0), complex(-0.0, 0), complex(1, NAN), complex(NAN, 1)]
    values = [value for value in odd if dtype == "complex64" or isinstance(value, float)]
    pixels = np.empty((1, 32, 32 * len(values)), dtype)
    for number, value in enumerate(values):
        pixels[..., number * 32 : (number + 1) * 32] = value
    recipe = recipe_for(pixels, 32, block_size=32, nodata=nodata, resampling="nearest")
    with rasterio.open(write_mosaic(tmp_path / "m.tif", pixels, recipe)) as dataset:
        assert dataset.read().tobytes() == pixels.tobytes()
