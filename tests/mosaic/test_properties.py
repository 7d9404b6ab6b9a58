"""Invariants 1 and 2 as properties: any image, any windows, the same pixels."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rasterio.io import MemoryFile

from scenemosaic.errors import IncompleteError
from scenemosaic.recipes.recipe import ENCODING, FIRST_ENCODING
from scenemosaic.recipes.recipe_rules import RESAMPLINGS
from scenemosaic.recipes.seed import FIRST_SEEDED
from tests.mosaic.memory import MemoryJob, recipe_for, tile_job
from tests.mosaic.pictures import noise, same

BLOCK = 32


@st.composite
def images(draw: st.DrawFn) -> tuple[Any, dict[str, Any], Any]:
    dtype = draw(st.sampled_from(["uint8", "int16", "float32"]))
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 260)), draw(st.integers(1, 260)))
    pixels = noise(dtype, shape, draw(st.integers(0, 99)))
    zero = 0.0 if dtype == "float32" else 0
    nodata = draw(st.sampled_from([None, zero]))
    if nodata is not None:
        pixels[np.random.default_rng(1).random(shape) < draw(st.floats(0, 1))] = nodata
    options = {
        "block_size": BLOCK,
        "nodata": nodata,
        "resampling": draw(st.sampled_from(RESAMPLINGS)),
        "interleave": draw(st.sampled_from(["pixel", "band"])) if shape[0] > 1 else "pixel",
        "compress": draw(st.sampled_from(["deflate", "zstd", "none"])),
        "encoding_version": draw(st.sampled_from([FIRST_ENCODING, FIRST_SEEDED, ENCODING])),
    }
    mask = None
    if nodata is None and draw(st.booleans()):
        holes = np.random.default_rng(2).random(shape[1:]) < draw(st.floats(0, 1))
        mask = np.where(holes, 255, 0).astype(np.uint8)
    return pixels, options, mask


def levels_in(job: MemoryJob) -> list[Any]:
    data = job.mosaic()
    with MemoryFile(data) as memory:
        with memory.open(driver="GTiff") as dataset:
            count = len(dataset.overviews(1))
            levels = [dataset.read(), dataset.read_masks()]
        for number in range(count):
            with memory.open(driver="GTiff", overview_level=number) as dataset:
                levels += [dataset.read(), dataset.read_masks()]
    return levels


def mosaic_levels(image: tuple[Any, dict[str, Any], Any], window: int) -> list[Any]:
    pixels, options, mask = image
    recipe = recipe_for(pixels, window, has_mask=mask is not None, **options)
    return levels_in(tile_job(pixels, recipe, mask))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(images(), st.sampled_from([1, 2, 3, 4, 8]), st.sampled_from([1, 2, 5, 8]))
def test_pixels_do_not_depend_on_windows(
    image: tuple[Any, dict[str, Any], Any], one: int, other: int
) -> None:
    first = mosaic_levels(image, BLOCK * one)
    second = mosaic_levels(image, BLOCK * other)
    assert same(first[0], image[0])
    assert len(first) == len(second)
    assert all(same(a, b) for a, b in zip(first, second, strict=True))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(images(), st.sampled_from([1, 2, 3]), st.randoms(use_true_random=False))
def test_bytes_do_not_depend_on_the_order_of_rows(
    image: tuple[Any, dict[str, Any], Any], window: int, random: Any
) -> None:
    pixels, options, mask = image
    recipe = recipe_for(pixels, BLOCK * window, has_mask=mask is not None, **options)
    job = tile_job(pixels, recipe, mask)
    before = job.mosaic()
    random.shuffle(job.rows)
    assert job.mosaic() == before


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(images(), st.data())
def test_a_missing_row_is_named_and_nothing_is_made(
    image: tuple[Any, dict[str, Any], Any], data: st.DataObject
) -> None:
    pixels, options, mask = image
    recipe = recipe_for(pixels, BLOCK * 2, has_mask=mask is not None, **options)
    job = tile_job(pixels, recipe, mask)
    lost = job.rows.pop(data.draw(st.integers(0, len(job.rows) - 1)))
    with pytest.raises(IncompleteError, match=lost.window):
        job.mosaic()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(["jpeg", "webp", "lerc"]),
    st.sampled_from([(300, 190), (129, 257), (64, 256)]),
    st.sampled_from(RESAMPLINGS),
)
def test_pixels_of_lossy_codecs_do_not_depend_on_windows(
    compress: str, size: tuple[int, int], resampling: str
) -> None:
    """The top levels are made of exact seeds, and not of what a codec left of a level."""
    pixels = np.random.default_rng(3).integers(0, 256, (3, *size)).astype(np.uint8)
    options: dict[str, Any] = {"block_size": BLOCK, "compress": compress, "resampling": resampling}
    image = (pixels, options, None)
    first, second = (mosaic_levels(image, BLOCK * blocks) for blocks in (1, 4))
    assert all(same(a, b) for a, b in zip(first, second, strict=True))
