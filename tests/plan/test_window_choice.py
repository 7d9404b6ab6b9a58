"""``--window auto``: deterministic, large enough to copy, small enough to hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Tiling
from scenemosaic.recipes.recipe_rules import worst_tile_bytes
from scenemosaic.recipes.window_choice import (
    MAX_RAW_BYTES,
    MAX_TILE_BYTES,
    choose_block,
    choose_window,
)


@pytest.mark.parametrize(
    ("bytes_per_pixel", "window"),
    [(6, 2048), (1, 4096), (2, 4096), (4, 2048), (8, 2048), (14 * 8, 1024), (200 * 8, 512)],
)
def test_large_scenes(bytes_per_pixel: int, window: int) -> None:
    assert choose_window(16384, 16384, 512, bytes_per_pixel, "deflate") == window


@pytest.mark.parametrize(
    ("width", "height", "window"),
    [(1, 1, 512), (512, 512, 512), (513, 5000, 2048), (1000, 777, 1024), (100_000, 1, 2048)],
)
def test_small_and_thin_scenes(width: int, height: int, window: int) -> None:
    assert choose_window(width, height, 512, 6, "deflate") == window


def test_gigantic_scenes_get_few_windows() -> None:
    window = choose_window(1_296_000, 525_000, 512, 1, "deflate")
    assert len(Tiling(1_296_000, 525_000, window, 512)) <= 9000


sizes = st.integers(1, 2_000_000)


@given(sizes, sizes, st.sampled_from([128, 256, 512, 1024]), st.integers(1, 400))
def test_windows_are_aligned_and_bounded(
    width: int, height: int, block: int, bytes_per_pixel: int
) -> None:
    window = choose_window(width, height, block, bytes_per_pixel, "deflate")
    factor = window // block
    assert window == block * factor
    assert factor & (factor - 1) == 0
    assert window < 2 * max(width, height, block)
    tiling = Tiling(width, height, window, block)
    if window > block:
        assert min(window, width) * min(window, height) * bytes_per_pixel <= MAX_RAW_BYTES
        assert worst_tile_bytes(tiling, bytes_per_pixel, True, "deflate") < MAX_TILE_BYTES


def test_a_bad_block_size_ends() -> None:
    for block in (0, -512, 500):
        with pytest.raises(InputError, match="multiple of 16"):
            choose_window(100, 100, block, 1, "deflate")


@given(st.integers(1, 70_000), st.integers(1, 70_000))
def test_no_level_is_one_block_wide_and_high(width: int, height: int) -> None:
    block = choose_block(width, height, None)
    tiling = Tiling(width, height, block, block)
    for level in range(tiling.last_level + 1):
        down, across = tiling.size_at(level)
        assert across != block or down <= 512


@pytest.mark.parametrize(
    ("width", "height", "window", "block"),
    [
        (8192, 8192, None, 512),
        (8192, 4096, None, 512),
        (4096, 8192, None, 256),
        (4096, 8192, 1024, 256),
        (512, 5000, None, 384),
        (4096, 8192, 512, 256),
        (4096, 8192, 528, 512),
    ],
)
def test_blocks_are_512_unless_a_level_would_look_untiled(
    width: int, height: int, window: int | None, block: int
) -> None:
    assert choose_block(width, height, window) == block


@pytest.mark.parametrize(
    ("side", "bytes_per_pixel", "window", "block"),
    [
        (1, 2000, None, 16),
        (3, 64, None, 512),  # as GDAL has it
        (100, 400, None, 112),
        (511, 2000, None, 512),
        (512, 2000, None, 512),
        (100, 400, 512, 512),
    ],
)
def test_a_small_image_of_many_bands_has_a_block_that_just_holds_it(
    side: int, bytes_per_pixel: int, window: int | None, block: int
) -> None:
    assert choose_block(side, 1, window, bytes_per_pixel) == block
