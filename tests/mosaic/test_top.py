"""The tree of boxes that the top levels are made by."""

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.mosaic import top
from scenemosaic.mosaic.pieces import PieceLevel
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.layout import LevelShape
from tests.mosaic.memory import recipe_for, tile_job
from tests.mosaic.pictures import noise, same
from tests.mosaic.test_properties import levels_in


def _base(rows: int, cols: int) -> PieceLevel:
    recipe = recipe_for(np.zeros((1, rows * 64, cols * 64), np.uint8), 64, block_size=64)
    return PieceLevel(LevelShape(cols * 64, rows * 64, 64, 1, False), 64, (), recipe)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 4))
def test_every_run_is_in_one_box_and_every_box_after_its_parts(
    rows: int, cols: int, step: int
) -> None:
    ups = max((max(rows, cols) - 1).bit_length(), step)
    boxes = list(top._boxes(_base(rows, cols), step, ups))
    assert len(set(boxes)) == len(boxes)
    assert boxes[-1] == top.Box(ups, 0, 0)
    side = 1 << step
    leaves = {(box.row, box.col) for box in boxes if box.up == step}
    assert leaves == {(r, c) for r in range(-(-rows // side)) for c in range(-(-cols // side))}
    place = {box: number for number, box in enumerate(boxes)}
    for box in boxes:
        assert all(place[part] < place[box] for part in top._parts(box) if part in place)
    assert all(box.up == ups or _above(box) in place for box in boxes)


def _above(box: top.Box) -> top.Box:
    return top.Box(box.up + 1, box.row // 2, box.col // 2)


def test_pixels_do_not_depend_on_how_many_levels_a_leaf_makes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pixels = noise("uint16", (3, 700, 900))
    job = tile_job(pixels, recipe_for(pixels, 32, block_size=32))
    whole = []
    for leaf_bytes in (1, 100_000, 8 << 20):
        monkeypatch.setattr(top, "_LEAF_BYTES", leaf_bytes)
        whole.append(levels_in(job))
    for levels in whole[1:]:
        assert all(same(a, b) for a, b in zip(whole[0], levels, strict=True))


def test_bytes_do_not_depend_on_how_many_read_at_once() -> None:
    pixels = noise("uint16", (3, 700, 900))
    job = tile_job(pixels, recipe_for(pixels, 64, block_size=32))
    assert job.mosaic() == job.mosaic(readers=4)


@pytest.mark.parametrize("readers", [1, 4])
def test_an_error_of_one_box_ends_all_of_it(readers: int) -> None:
    pixels = noise("uint16", (1, 600, 600))
    job = tile_job(pixels, recipe_for(pixels, 64, block_size=64))
    read, broken = job.get, job.rows[50].output_uri

    def get(key: str, offset: int, size_bytes: int, etag: str) -> bytes:
        data = read(key, offset, size_bytes, etag)
        return bytes(len(data)) if key == broken and offset else data

    cast(Any, job.__dict__)["get"] = get
    with pytest.raises(BadTiff, match=broken):
        job.mosaic(readers)


@pytest.mark.parametrize("resampling", ["average", "cubic"])
def test_every_box_is_told_of_once(resampling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(top, "_LEAF_BYTES", 1)
    pixels = noise("uint8", (1, 320, 320))
    job = tile_job(pixels, recipe_for(pixels, 32, block_size=32, resampling=resampling))
    told: list[tuple[int, int]] = []
    job.mosaic(told=lambda done, total: told.append((done, total)))
    boxes = 5 * 5 + 3 * 3 + 2 * 2 + 1
    assert told == [(done, boxes) for done in range(boxes + 1)]


def test_a_mosaic_without_levels_of_its_own_has_no_boxes_to_tell_of() -> None:
    pixels = noise("uint8", (1, 64, 64))
    told: list[tuple[int, int]] = []
    job = tile_job(pixels, recipe_for(pixels, 64, block_size=32))
    job.mosaic(told=lambda done, total: told.append((done, total)))
    assert told == []
