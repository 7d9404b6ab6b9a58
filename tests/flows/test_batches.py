"""Batches: every window once, never more than a task run may hold, sized by work."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.engines import batches
from flows.engines.limits import Limits
from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Grid
from scenemosaic.keys import WINDOWS_PER_SHARD
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.recipes.recipe_rules import LEVELS


def recipe(window: int, size: int = 100_000, bands: int = 3) -> Recipe:
    grid = Grid("EPSG:32633", (10.0, 0.0, 4e5, 0.0, -10.0, 5e6), size, size)
    return Recipe(grid, "uint16", bands, None, False, window, min(window, 512))


@given(st.sets(st.integers(0, 10**5), max_size=500), st.integers(1, batches.MAX_WINDOWS))
def test_every_window_is_in_one_batch(chosen: set[int], size: int) -> None:
    numbers = sorted(chosen)
    split = batches.split(numbers, size)
    assert sorted(number for batch in split for number in batch) == numbers
    assert all(list(batch) == sorted(batch) for batch in split)
    assert sum(len(batch) < size for batch in split) <= 1
    assert all(1 <= len(batch) <= size for batch in split)


def test_batches_of_all_partitions_come_in_turn() -> None:
    """Neighbours share a partition of the manifest, which takes so many rows a second."""
    split = batches.split(range(3 * WINDOWS_PER_SHARD + 10), 64)
    shards = [batch[0] // WINDOWS_PER_SHARD for batch in split]
    assert shards[:8] == [0, 1, 2, 3, 0, 1, 2, 0]
    assert all(len({n // WINDOWS_PER_SHARD for n in batch}) == 1 for batch in split)


@given(st.sampled_from([64, 256, 512, 1024, 2048, 4096]), st.integers(0, 10**6), st.integers(1, 64))
def test_a_batch_is_within_its_bounds(window: int, missing: int, workers: int) -> None:
    size = batches.batch_size(recipe(window), missing, workers)
    assert 1 <= size <= batches.MAX_WINDOWS
    if missing >= workers * batches.LEAST_PER_WORKER:
        assert len(batches.split(range(missing), size)) >= workers


@pytest.mark.parametrize("level", [None, 6, 12])
@pytest.mark.parametrize(("window", "missing"), [(2048, 400), (2048, 40_000), (1024, 1000)])
def test_a_batch_is_two_to_ten_seconds_of_work(
    window: int, missing: int, level: int | None
) -> None:
    asked = dataclasses.replace(recipe(window), level=level)
    size = batches.batch_size(asked, missing, 2)
    least, most = (n * batches.window_seconds(asked) for n in (size, size - 1))
    assert least >= batches.LEAST_S
    assert most < batches.MOST_S


def test_tiny_windows_come_in_large_batches() -> None:
    assert 100 <= batches.batch_size(recipe(64), 10_000, 2) <= batches.MAX_WINDOWS


def test_every_codec_has_a_rate() -> None:
    assert set(batches.MB_PER_S) == set(LEVELS)
    assert all(rates[0][0] == 0 for rates in batches.MB_PER_S.values())


def test_a_scene_smaller_than_its_window_is_estimated_by_its_pixels() -> None:
    small = recipe(4096, size=100)
    assert batches.window_seconds(small) < batches.window_seconds(recipe(4096)) / 50


@pytest.mark.parametrize("bad", [0, -1, batches.MAX_WINDOWS + 1])
def test_a_size_out_of_bounds_is_refused_by_its_value(bad: int) -> None:
    with pytest.raises(InputError, match=str(bad)):
        Limits(1, bad)
    with pytest.raises(InputError, match=str(bad)):
        batches.split([1], bad)


def test_no_worker_is_refused() -> None:
    with pytest.raises(InputError, match="worker"):
        dataclasses.replace(Limits(1), workers=0)
