"""With boxes and without, the mosaic is the same to the last byte, and so is its preview."""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scenemosaic.mosaic import picture
from scenemosaic.mosaic import top_boxes as which
from scenemosaic.recipes.recipe_rules import LOCAL
from tests.mosaic.pictures import noise
from tests.top_boxes.memory import boxed_job

PIXELS = noise("uint8", (3, 300, 420))


@st.composite
def images(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    """Pixels, and how a job of them is asked for."""
    dtype = draw(st.sampled_from(["uint8", "int16", "float32"]))
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 400)), draw(st.integers(65, 400)))
    pixels = noise(dtype, shape, draw(st.integers(0, 99)))
    lossy = ["jpeg", "webp"] * (dtype == "uint8" and shape[0] == 3)
    codecs = ["deflate", "zstd", "lerc", "none", *lossy]
    mask = None
    if draw(st.booleans()):
        holes = np.random.default_rng(2).random(shape[1:]) < draw(st.floats(0, 1))
        mask = np.where(holes, 255, 0).astype(np.uint8)
        pixels[:, ~holes] = 0
    compress = draw(st.sampled_from(codecs))
    bands = ["pixel"] if shape[0] == 1 or compress == "webp" else ["pixel", "band"]
    return pixels, {
        "window": 32 * draw(st.integers(1, 3)),
        "mask": mask,
        "compress": compress,
        "interleave": draw(st.sampled_from(bands)),
        "resampling": draw(st.sampled_from(LOCAL)),
    }


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(images(), st.integers(1, 3), st.sampled_from([50, 100, 1024]), st.data())
def test_bytes_do_not_depend_on_which_boxes_stand(
    image: tuple[Any, dict[str, Any]], levels: int, shown_px: int, data: st.DataObject
) -> None:
    pixels, options = image
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(which, "MOST_LEVELS", levels)
        # The level that a preview shows lies below, in or above the boxes.
        patch.setattr(picture, "MAX_SIDE_PX", shown_px)
        job = boxed_job(pixels, **options)
        assume(job.boxes)
        whole = job.mosaic({})
        assert job.mosaic(job.boxes) == whole
        kept = data.draw(st.sets(st.sampled_from(sorted(job.boxes, key=str))))
        assert job.mosaic({box: job.boxes[box] for box in kept}) == whole


def test_with_all_boxes_no_seed_is_read() -> None:
    job = boxed_job(PIXELS, 32)
    job.mosaic({})
    tiles = {key for key in job.data if key.startswith("tiles/")}
    seeds = [one for one in job.read if one[0] in tiles and one[1] > 0]
    assert len({key for key, *_ in seeds}) == len(tiles)
    job.mosaic(job.boxes)
    first, *_ = sorted(tiles)
    # The preview is of a level that all tiles carry; the first tile's header becomes the mosaic's.
    shown = [(key, offset) for key, offset, _ in job.read if key in tiles]
    assert sorted(shown) == sorted([(first, 0), *((key, at) for key, at, _ in level_0(seeds))])
    fronts = [(box.key, 0, box.front_bytes) for box in job.boxes.values()]
    assert sorted(one for one in job.read if one[0] not in tiles) == sorted(fronts)


def level_0(read: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """The last range of each tile."""
    return [max(one for one in read if one[0] == key) for key in sorted({one[0] for one in read})]


def damaged(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("how", ["header", "pixels", "short", "longer", "empty", "another"])
def test_a_damaged_box_is_named_and_made_anew(how: str, caplog: pytest.LogCaptureFixture) -> None:
    job = boxed_job(PIXELS, 64, compress="jpeg")
    whole = job.mosaic({})
    (box, stands), (_, other), *_ = job.boxes.items()
    data = job.data[stands.key]
    changes: dict[str, Any] = {
        "header": damaged(data, 20),
        "pixels": damaged(data, stands.front_bytes - 1),
        "short": data[: stands.front_bytes - 1],
        "longer": data,
        "empty": b"",
        "another": job.data[other.key],
    }
    job.data[stands.key] = changes[how]
    size = len(data) + 1 if how == "longer" else stands.size_bytes
    with caplog.at_level(logging.WARNING):
        assert job.mosaic({**job.boxes, box: replace(stands, size_bytes=size)}) == whole
    assert [stands.key in line for line in caplog.messages] == [True]
