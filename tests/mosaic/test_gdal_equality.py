"""Invariants 1, 3 and 7: level 0 is the source, levels are GDAL's, validators agree."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scenemosaic.recipes.recipe_rules import RESAMPLINGS
from tests.lengths import IS_FULL
from tests.mosaic.memory import recipe_for, write_mosaic
from tests.mosaic.pictures import gdal_cog, levels_of, noise, same
from tests.validators import assert_valid_cog

DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64")
# All of one with all of the other where sums may overflow or round; else each with each in turn.
# Most pairs are compared value by value in test_hidden_pixels.py, too.
EVERY = ("uint8", "float32")
CASES = [
    (dtype, resampling)
    for row, dtype in enumerate(DTYPES)
    for column, resampling in enumerate(RESAMPLINGS)
    if dtype in EVERY or (row + column) % 3 == 0 or IS_FULL
]


def _check(tmp_path: Path, pixels: Any, nodata: Any, mask: Any, resampling: str) -> None:
    recipe = recipe_for(
        pixels, 256, block_size=128, nodata=nodata, has_mask=mask is not None,
        resampling=resampling,
    )  # fmt: skip
    ours = levels_of(write_mosaic(tmp_path / "ours.tif", pixels, recipe, mask))
    theirs = levels_of(
        gdal_cog(
            tmp_path / "gdal.tif", pixels, resampling=resampling, block_size=128, nodata=nodata,
            mask=mask,
        )
    )  # fmt: skip
    assert same(ours[0][0], pixels)
    assert len(ours) == len(theirs) == 3
    for level, ((a, mask_a), (b, mask_b)) in enumerate(zip(ours, theirs, strict=True)):
        assert same(a, b) or (_is_rounded(a, resampling) and np.allclose(a, b)), f"level {level}"
        assert same(mask_a, mask_b), f"mask of level {level}"


def _is_rounded(pixels: Any, resampling: str) -> bool:
    """GDAL's own last digits depend on where a chunk ends; ours do not."""
    return resampling == "bilinear" and pixels.dtype == np.float32


@pytest.mark.parametrize(("dtype", "resampling"), CASES)
def test_every_level_equals_gdal(tmp_path: Path, dtype: str, resampling: str) -> None:
    _check(tmp_path, noise(dtype, (2, 512, 512)), None, None, resampling)


@pytest.mark.parametrize("resampling", RESAMPLINGS)
@pytest.mark.parametrize(("dtype", "nodata"), [("uint8", 0), ("int16", -999), ("float32", np.nan)])
def test_nodata_is_left_out_as_gdal_does(
    tmp_path: Path, dtype: str, nodata: float, resampling: str
) -> None:
    pixels = noise(dtype, (2, 512, 512))
    holes = np.random.default_rng(1).random(pixels.shape) < 0.4
    holes[:, :200, :300] = True
    pixels[holes] = nodata
    _check(tmp_path, pixels, nodata, None, resampling)


@pytest.mark.parametrize("resampling", RESAMPLINGS)
def test_masks_are_stitched_and_reduced_as_gdal_does(tmp_path: Path, resampling: str) -> None:
    mask = np.where(np.random.default_rng(1).random((512, 512)) < 0.5, 255, 0).astype(np.uint8)
    mask[:256, :300] = 0
    _check(tmp_path, noise("uint16", (3, 512, 512)), None, mask, resampling)


def test_complex_pixels_take_nearest(tmp_path: Path) -> None:
    _check(tmp_path, noise("complex64", (1, 512, 512)), None, None, "nearest")


@pytest.mark.parametrize("size", [(777, 1000), (1, 1), (2500, 257), (512, 513), (1, 700), (700, 1)])
def test_sizes_that_divide_by_nothing(tmp_path: Path, size: tuple[int, int]) -> None:
    pixels = noise("uint16", (2, *size))
    mosaics = []
    for window in (128, 256, 512):
        recipe = recipe_for(pixels, window, block_size=128)
        path = write_mosaic(tmp_path / f"{window}.tif", pixels, recipe)
        if min(size) > 128:
            assert_valid_cog(path)
        mosaics.append(levels_of(path))
    for levels in mosaics:
        assert same(levels[0][0], pixels)
        for number, (level, _) in enumerate(levels):
            assert level.shape[1:] == (-(-size[0] // 2**number), -(-size[1] // 2**number))
            assert same(level, mosaics[0][number][0])


def test_an_odd_edge_is_the_mean_of_what_lies_inside(tmp_path: Path) -> None:
    pixels = noise("uint16", (1, 151, 201))
    levels = levels_of(
        write_mosaic(tmp_path / "m.tif", pixels, recipe_for(pixels, 128, block_size=128))
    )
    wide = pixels[0].astype(np.int64)
    corner = wide[150:, 200:].mean()
    assert levels[1][0][0, 75, 100] == corner
    assert levels[1][0][0, 75, 7] == (wide[150, 14:16].sum() + 1) // 2
    assert levels[1][0][0, 9, 100] == (wide[18:20, 200].sum() + 1) // 2


@pytest.mark.parametrize("compress", ["deflate", "zstd", "lzw", "none", "lerc"])
@pytest.mark.parametrize("interleave", ["pixel", "band"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_lossless_codecs_keep_every_pixel(
    tmp_path: Path, compress: str, interleave: str, dtype: str
) -> None:
    pixels = noise(dtype, (3, 300, 400))
    pixels[:, :128, :128] = 0
    recipe = recipe_for(pixels, 256, block_size=128, compress=compress, interleave=interleave)
    path = write_mosaic(tmp_path / "m.tif", pixels, recipe)
    assert same(levels_of(path)[0][0], pixels)
    assert_valid_cog(path)


@pytest.mark.parametrize("compress", ["jpeg", "webp"])
def test_lossy_codecs_stay_near(tmp_path: Path, compress: str) -> None:
    y, x = np.mgrid[0:300, 0:400]
    pixels = np.stack([(y + x) // 4, y // 2, x // 2]).astype(np.uint8)
    recipe = recipe_for(pixels, 256, block_size=128, compress=compress)
    path = write_mosaic(tmp_path / "m.tif", pixels, recipe)
    assert np.abs(levels_of(path)[0][0].astype(int) - pixels).max() < 30
    assert_valid_cog(path)


def test_negative_zeros_and_infinities_survive(tmp_path: Path) -> None:
    pixels = np.zeros((1, 256, 256), np.float32)
    pixels[0, 3, 5], pixels[0, 200, 7], pixels[0, 200, 8] = -0.0, np.inf, -np.inf
    path = write_mosaic(tmp_path / "m.tif", pixels, recipe_for(pixels, 128, block_size=128))
    assert levels_of(path)[0][0].tobytes() == pixels.tobytes()


def test_empty_windows_are_sparse(tmp_path: Path) -> None:
    pixels = np.full((1, 1024, 1024), np.nan, np.float32)
    pixels[0, 600, 600] = 1
    recipe = recipe_for(pixels, 256, block_size=128, nodata=float("nan"))
    path = write_mosaic(tmp_path / "m.tif", pixels, recipe)
    assert path.stat().st_size < 20_000
    assert same(levels_of(path)[0][0], pixels)
    assert_valid_cog(path)


def test_an_image_of_nothing_but_nodata(tmp_path: Path) -> None:
    pixels = np.zeros((1, 512, 512), np.uint8)
    path = write_mosaic(tmp_path / "m.tif", pixels, recipe_for(pixels, 256, block_size=128))
    assert same(levels_of(path)[0][0], pixels)
    assert path.stat().st_size < 5_000


@pytest.mark.parametrize("compress", ["jpeg", "webp"])
def test_the_level_of_a_lossy_codec_is_its_quality(tmp_path: Path, compress: str) -> None:
    pixels = noise("uint8", (3, 256, 256))
    sizes = []
    for level in (20, 95):
        recipe = recipe_for(pixels, 256, block_size=128, compress=compress, level=level)
        path = write_mosaic(tmp_path / f"{level}.tif", pixels, recipe)
        sizes.append(path.stat().st_size)
    assert sizes[0] < sizes[1] / 2
