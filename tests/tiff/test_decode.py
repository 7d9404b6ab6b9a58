"""What was encoded comes back, for every codec that is decoded here; what is broken is named."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.io import MemoryFile

from scenemosaic.dtypes import ITEM_SIZES, is_complex, is_integer
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.tiff.decode import DIRECT, decode_run
from scenemosaic.tiff.deflate import chosen
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.runs import Run
from scenemosaic.tile import block_coding, encode_run, level_shape
from tests.mosaic.memory import recipe_for, tile_job
from tests.mosaic.pictures import noise, same

BLOCK = 32


def _predictors(dtype: str, compress: str) -> list[int]:
    if compress == "none" or is_complex(dtype):
        return [1]
    return [1, 2] if is_integer(dtype) else [1, 2, 3]


@st.composite
def encoded(draw: st.DrawFn) -> tuple[Any, Any, Recipe]:
    dtype, compress = draw(st.sampled_from(sorted(ITEM_SIZES))), draw(st.sampled_from([*DIRECT]))
    shape = draw(st.integers(1, 4)), draw(st.integers(1, 100)), draw(st.integers(1, 100))
    pixels = noise(dtype, shape, draw(st.integers(0, 9)))
    pixels[:, : draw(st.integers(0, 100)), : draw(st.integers(0, 100))] = 0
    mask = None
    if draw(st.booleans()):
        mask = np.where(noise("uint8", (1, *shape[1:]), 3)[0] > 99, 255, 0).astype(np.uint8)
        mask[: draw(st.integers(0, 100))] = 0
    recipe = recipe_for(
        pixels, BLOCK * 4, block_size=BLOCK, compress=compress, has_mask=mask is not None,
        predictor=draw(st.sampled_from(_predictors(dtype, compress))), resampling="nearest",
        interleave=draw(st.sampled_from(["pixel", "band"])),
    )  # fmt: skip
    return pixels, mask, recipe


def _decode(data: bytes, run: Run, pixels: Any, mask: Any, recipe: Recipe) -> tuple[Any, Any]:
    found, bits = np.full_like(pixels, 9), None if mask is None else np.full_like(mask, 9)
    shape = level_shape(recipe, *pixels.shape[1:])
    decode_run(data, run.sizes, shape, block_coding(recipe), found, bits)
    return found, bits


@settings(max_examples=150, deadline=None)
@given(encoded())
def test_pixels_and_masks_come_back(case: tuple[Any, Any, Recipe]) -> None:
    pixels, mask, recipe = case
    run = encode_run(pixels, mask, recipe, chosen)
    found, bits = _decode(b"".join(run.pieces), run, pixels, mask, recipe)
    assert found.tobytes() == pixels.tobytes()
    assert mask is None or (bits == mask).all()


@pytest.mark.parametrize("nodata", [-7, 250])
def test_a_sparse_block_reads_as_nodata(nodata: int) -> None:
    pixels = np.full((2, 40, 70), nodata, np.int16)
    pixels[:, 35:, 65:] = 3
    recipe = recipe_for(pixels, BLOCK * 4, block_size=BLOCK, nodata=nodata)
    run = encode_run(pixels, None, recipe, chosen)
    assert (run.sizes == 0).sum() == 5
    assert same(_decode(b"".join(run.pieces), run, pixels, None, recipe)[0], pixels)


@pytest.mark.parametrize("compress", ["deflate", "zstd", "none"])
def test_a_block_that_does_not_hold_its_pixels_is_named(compress: str) -> None:
    pixels = noise("uint16", (1, 32, 32))
    recipe = recipe_for(pixels, BLOCK, block_size=BLOCK, compress=compress)
    run = encode_run(pixels, None, recipe, chosen)
    larger = replace(recipe_for(pixels, 64, block_size=64, compress=compress))
    with pytest.raises(BadTiff, match="holds 2048 bytes, not 8192"):
        _decode(b"".join(run.pieces), run, pixels, None, larger)
    if compress != "none":
        with pytest.raises(BadTiff, match="cannot be decompressed"):
            _decode(bytes(len(b"".join(run.pieces))), run, pixels, None, recipe)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("compress", ["deflate", "zstd", "lzw"])
def test_gdal_reads_floats_with_the_predictor_of_integers(dtype: str, compress: str) -> None:
    pixels = noise(dtype, (2, 100, 130))
    recipe = recipe_for(pixels, 128, block_size=64, compress=compress, predictor=2)
    with MemoryFile(tile_job(pixels, recipe).mosaic()) as file, file.open() as dataset:
        assert same(dataset.read(), pixels)
