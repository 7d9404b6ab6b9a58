"""Runs that no store copies are read once, with what is decoded: the same bytes, fewer requests."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenemosaic.mosaic import at_hand
from scenemosaic.mosaic.assembly import assembled, tiles_in_order
from scenemosaic.stores.port import Copying, CopyRun, Segment
from tests.mosaic.memory import MemoryJob, recipe_for, segment_bytes, tile_job
from tests.mosaic.pictures import noise

BLOCK = 32
ALL = 1 << 30  # longer than any run: all of them pass through


def job_of(side: int, windows: int, **options: Any) -> MemoryJob:
    pixels = noise("uint16", (2, side, side), 3)
    return tile_job(pixels, recipe_for(pixels, windows * BLOCK, block_size=BLOCK, **options))


def segments_of(job: MemoryJob, least_bytes: int, get: Any = None) -> tuple[Segment, ...]:
    tiles = tiles_in_order(job.plan, job.rows)
    copying = Copying(least_bytes)
    with assembled(tiles, job.plan.recipe, get or job.get, copying=copying) as made:
        return made.stitched.segments


def brought(segments: tuple[Segment, ...]) -> list[CopyRun]:
    return [one for one in segments if isinstance(one, CopyRun) and one.data is not None]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(1, 300),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(["nearest", "average", "cubic"]),
    st.sampled_from([0, 200, 3000, 20_000, ALL]),
    st.sampled_from([1, 4]),
    st.sampled_from(["pixel", "band"]),
)
def test_what_a_run_brings_is_what_the_store_holds(
    side: int, windows: int, resampling: str, least: int, version: int, interleave: str
) -> None:
    job = job_of(
        side, windows, resampling=resampling, encoding_version=version, interleave=interleave
    )
    for run in brought(segments_of(job, least)):
        assert run.data == job.get(run.key, run.offset, run.size_bytes, run.etag)
        assert run.size_bytes < max(least, 1)


@pytest.mark.parametrize("resampling", ["average", "cubic"])
def test_a_tile_that_no_store_copies_is_read_once(resampling: str) -> None:
    job = job_of(300, 4, resampling=resampling)
    asked: Counter[str] = Counter()

    def get(key: str, offset: int, size_bytes: int, etag: str) -> bytes:
        if offset:  # the first bytes of one tile tell the contract
            asked[key] += 1
        return job.get(key, offset, size_bytes, etag)

    segments = segments_of(job, ALL, get)
    for one in segments:
        if isinstance(one, CopyRun) and one.data is None:
            segment_bytes(one, get)
    assert set(asked.values()) == {1}
    assert len(asked) == len(job.tiles)


@pytest.mark.parametrize("least", [0, 3000, 20_000, ALL])
def test_a_preview_of_a_longer_run_is_drawn_all_the_same(least: int) -> None:
    """It is of level 0 here, which a store may copy by itself though it copies none above."""
    job = job_of(300, 4)
    tiles = tiles_in_order(job.plan, job.rows)
    asked: list[int] = []

    def get(key: str, offset: int, size_bytes: int, etag: str) -> bytes:
        asked.append(size_bytes)
        return job.get(key, offset, size_bytes, etag)

    pictures = []
    for how in (Copying(least), Copying()):
        with assembled(tiles, job.plan.recipe, get, copying=how) as made:
            pictures.append(made.preview())
    assert pictures[0] == pictures[1]
    assert min(asked) > 0


def test_a_store_that_copies_everything_is_not_read_further() -> None:
    assert brought(segments_of(job_of(300, 4), 0)) == []


def test_no_more_is_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_of(300, 2)
    tiles = tiles_in_order(job.plan, job.rows)
    room = sum(tile.row.bytes for tile in tiles) // 2
    near = at_hand.at_hand(tiles, ALL, room)
    kept = [tile for tile in tiles if tile.key in near.ends]
    assert 0 < len(kept) < len(tiles)
    assert sum(near.ends[tile.key] - tile.header_bytes for tile in kept) <= room


def test_a_short_answer_is_noticed() -> None:
    """The run is then read by itself, whose check tells what is wrong."""
    job = job_of(300, 4)

    def get(key: str, offset: int, size_bytes: int, etag: str) -> bytes:
        data = job.get(key, offset, size_bytes, etag)
        return data if size_bytes < 5000 else data[: len(data) // 2]

    for run in brought(segments_of(job, ALL, get)):
        assert run.data == job.get(run.key, run.offset, run.size_bytes, run.etag)


def test_parts_of_a_run_bring_their_part() -> None:
    data = memoryview(np.arange(200, dtype=np.uint8).tobytes())
    run = CopyRun("t", "e", 1000, 200, 7, data)
    part = run.part(50, 60, 9)
    assert (part.offset, part.size_bytes, part.crc, part.data) == (1050, 60, 9, data[50:110])
    assert CopyRun("t", "e", 1000, 200).part(50, 60, None).data is None
