"""Which boxes there are: the recipe alone says it."""

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scenemosaic.mosaic import top_boxes as which
from scenemosaic.mosaic.assembly import tiles_in_order
from scenemosaic.mosaic.top import Box
from scenemosaic.mosaic.top_boxes import box_key, box_levels, top_boxes
from scenemosaic.recipes.recipe import Recipe
from tests.mosaic.memory import recipe_for, tile_job
from tests.mosaic.pictures import noise


def recipe(height: int, width: int, window: int, block: int, **options: Any) -> Recipe:
    pixels = np.broadcast_to(np.zeros(1, options.pop("dtype", "uint16")), (3, height, width))
    return recipe_for(pixels, window, block_size=block, **options)


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds outside of tests."""
    monkeypatch.setattr(which, "FROM_WINDOWS", 4096)
    monkeypatch.setattr(which, "MOST_LEVELS", 5)


@pytest.mark.usefixtures("real")
def test_only_very_large_mosaics_have_boxes_and_their_size_is_bounded() -> None:
    country = recipe(64 * 2048, 64 * 2048, 2048, 512)
    assert box_levels(country) == 3
    assert len(top_boxes(country)) == 64
    assert which.largest_bytes(country, 3) == 3 * 2 * 2048**2 == which.BOX_BYTES
    assert box_levels(recipe(64 * 2048, 63 * 2048, 2048, 512)) is None
    assert box_levels(recipe(64 * 2048, 64 * 2048, 2048, 512, resampling="cubic")) is None
    assert box_levels(recipe(64 * 2048, 64 * 2048, 2048, 512, encoding_version=2)) is None
    assert box_levels(recipe(64 * 16, 64 * 16, 16, 16)) is None  # tiles without seeds
    assert box_levels(recipe(64 * 64, 64 * 64, 64, 64)) == 5


def test_where_nothing_lies_above_them_there_are_none() -> None:
    assert box_levels(recipe(64, 64, 32, 32)) is None
    assert box_levels(recipe(65, 64, 32, 32)) == 1


@given(
    st.integers(1, 900), st.integers(1, 900), st.sampled_from([32, 64, 96, 128]), st.integers(1, 3)
)
def test_each_window_is_in_one_box_and_boxes_cover_their_levels(
    height: int, width: int, window: int, most: int
) -> None:
    one = recipe(height, width, window, 32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(which, "MOST_LEVELS", most)
        boxes = top_boxes(one)
    assume(boxes)
    numbers = Counter(number for box in boxes for number in which.numbers_of(one, box))
    assert numbers == dict.fromkeys(range(len(one.tiling())), 1)
    first = one.tiling().tile_levels + 1
    for level in range(first, first + boxes[0].up):
        sizes = {(box.row, box.col): which.shapes_of(one, box)[level] for box in boxes}
        rows, cols = (range(max(found) + 1) for found in zip(*sizes, strict=True))
        heights = [{sizes[row, col].height for col in cols} for row in rows]
        widths = [{sizes[row, col].width for row in rows} for col in cols]
        assert all(len(found) == 1 for found in (*heights, *widths))
        whole = sum(sum(found) for found in heights), sum(sum(found) for found in widths)
        assert whole == one.tiling().size_at(level)
        assert set(sizes) == set(product(rows, cols))


def test_a_key_says_what_its_box_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    pixels = noise("uint8", (1, 200, 200))
    job = tile_job(pixels, recipe_for(pixels, 64, block_size=64))
    tiles = tiles_in_order(job.plan, job.rows, [0, 1, 4, 5])
    box = Box(1, 0, 0)
    key = box_key(job.plan, box, tiles)
    assert key.startswith(f"stages/{job.plan.job_id}/top-0000_0000-")
    repaired = replace(tiles[3], row=replace(tiles[3].row, sha256="0" * 64))
    other = [box_key(job.plan, box, [*tiles[:3], repaired]), box_key(job.plan, box, tiles[::-1])]
    monkeypatch.setattr(which, "software_versions", lambda: {"gdal": "99"})
    other.append(box_key(job.plan, box, tiles))
    assert len({key, *other}) == 4
