"""What a job will take: by its codec and level, assembly's share and the start among it."""

import dataclasses

import pytest

from flows.engines.limits import Limits
from flows.texts import estimate
from scenemosaic.grids.grid import Grid
from scenemosaic.recipes.recipe import Recipe

ONE = Limits(1)


def recipe(compress: str = "deflate", level: int | None = None, window: int = 512) -> Recipe:
    grid = Grid("EPSG:32633", (10.0, 0.0, 4e5, 0.0, -10.0, 5e6), 4096, 4096)
    made = Recipe(grid, "uint16", 3, None, False, window, 512)
    return dataclasses.replace(made, compress=compress, level=level)


def test_a_dear_level_takes_many_times_as_long() -> None:
    cheap, dear = (estimate.estimate(recipe("zstd", level), ONE) for level in (1, 22))
    assert dear.windows > 20 * cheap.windows
    assert dear.assembly > 10 * cheap.assembly


def test_levels_that_windows_do_not_carry_are_assemblys() -> None:
    small, large = (estimate.estimate(recipe("zstd", 22, window), ONE) for window in (512, 4096))
    assert small.assembly > 20 * large.assembly
    assert small.windows < large.windows


def test_a_job_of_no_size_takes_as_long_as_its_start() -> None:
    assert estimate.estimate(recipe("none"), ONE).total >= estimate.START_S
    assert estimate.as_text(recipe("none"), ONE).startswith("a few seconds on 1 worker (windows")


def test_an_effort_counts_like_a_level() -> None:
    fast = dataclasses.replace(recipe("zstd"), effort="fast")
    small = dataclasses.replace(recipe("zstd"), effort="small")
    assert estimate.estimate(fast, ONE).windows < estimate.estimate(small, ONE).windows


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.02, "a few seconds"),
        (13, "about 10 s"),
        (94.9, "about 90 s"),
        (96, "about 2 min"),
        (283, "about 5 min"),
        (7000, "about 2 h"),
        (1e6, "about 12 days"),
    ],
)
def test_seconds_are_rounded(seconds: float, text: str) -> None:
    assert estimate.rough(seconds) == text


def test_dear_levels_are_said_to_be_assemblys() -> None:
    said = estimate.dear_levels(recipe("zstd", 22))
    assert len(said) == 1
    assert "windows of 512 carry none: assembly makes all smaller ones, in zstd level 22" in said[0]
    assert estimate.dear_levels(recipe("zstd", 22, 1024)) == []
    assert estimate.dear_levels(recipe()) == []
