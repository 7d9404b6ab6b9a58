"""How many windows a task run handles. Pure; decides cost, never pixels."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

from scenemosaic.dtypes import ITEM_SIZES
from scenemosaic.errors import InputError
from scenemosaic.grids.grid import ceil_div
from scenemosaic.keys import WINDOWS_PER_SHARD
from scenemosaic.recipes.recipe import Recipe

MAX_WINDOWS: Final = 200
# A task run of less costs more to record than it is worth; a longer one is long to do again.
LEAST_S: Final = 2.0
MOST_S: Final = 10.0
# In between, so many for each worker that none waits long for another's last batch.
GOOD_PER_WORKER: Final = 16
LEAST_PER_WORKER: Final = 3
# Raw megabytes that one core encodes in a second, by codec and from which level on. Measured on
# 2026-11-30 on one core of an AMD EPYC that others kept busy, by imagecodecs and the predictor of
# each type, in blocks of 512 pixels: noisy and smooth scenes of 1 to 4 bytes a sample, Landsat 8
# and HiRISE among them. Each is within a factor of two to three of these; zstd from 14 on is set
# lower, after a whole run at 22.
MB_PER_S: Final[Mapping[str, tuple[tuple[int, float], ...]]] = {
    "deflate": ((0, 150.0), (3, 100.0), (6, 80.0), (9, 70.0), (10, 28.0), (12, 13.0)),
    "zstd": (
        *((0, 600.0), (3, 200.0), (6, 85.0), (9, 60.0)),
        *((12, 40.0), (14, 6.0), (17, 3.5), (19, 2.2), (22, 1.7)),
    ),
    "lzw": ((0, 125.0),),
    "lerc": ((0, 120.0),),
    "jpeg": ((0, 200.0),),
    "webp": ((0, 15.0),),
    "none": ((0, 3000.0),),
}
# The same of those that have efforts, without a level.
_BY_EFFORT: Final[Mapping[str, Mapping[str, float]]] = {
    "deflate": {"fast": 350.0, "balanced": 130.0, "small": 70.0},
    "zstd": {"fast": 600.0, "balanced": 200.0, "small": 60.0},
}
# To read a source, to halve its pixels and to store what came of it.
READ_MB_PER_S: Final = 490.0
# A pyramid has a third more pixels than its largest level.
PYRAMID: Final = 4 / 3
WINDOW_OVERHEAD_S: Final = 0.01
# What GDAL's warper takes for three bands of one source, coordinates included.
WARP_S_PER_MPX: Final = 0.5


def window_seconds(recipe: Recipe) -> float:
    """A rough estimate of one worker's seconds for one full window."""
    side_x = min(recipe.window_size, recipe.grid.width)
    side_y = min(recipe.window_size, recipe.grid.height)
    megabytes = side_x * side_y * recipe.bands * ITEM_SIZES[recipe.dtype] / 1e6
    warped = recipe.merge is not None and recipe.merge.warp is not None
    warp_s = side_x * side_y / 1e6 * WARP_S_PER_MPX if warped else 0.0
    encoded = megabytes * (PYRAMID if recipe.tiling().tile_levels else 1.0)
    return WINDOW_OVERHEAD_S + megabytes / READ_MB_PER_S + encoded / mb_per_s(recipe) + warp_s


def mb_per_s(recipe: Recipe) -> float:
    """Raw megabytes that a core encodes in a second under a recipe."""
    rates, efforts = MB_PER_S[recipe.compress], _BY_EFFORT.get(recipe.compress)
    if efforts is None:  # the level of the others is a quality
        return rates[0][1]
    if recipe.level is None:
        return efforts[recipe.effort]
    return [rate for first, rate in rates if first <= recipe.level][-1]


def batch_size(recipe: Recipe, missing: int, workers: int) -> int:
    """Windows a batch: two to ten seconds of work, yet enough batches for all workers."""
    return size_of(window_seconds(recipe), missing, workers)


def size_of(one_s: float, missing: int, workers: int) -> int:
    """The same of anything that takes a worker about ``one_s`` each."""
    good_s = missing * one_s / (workers * GOOD_PER_WORKER)
    by_work = ceil_div(round(min(max(good_s, LEAST_S), MOST_S) * 1e6), max(1, round(one_s * 1e6)))
    by_workers = ceil_div(max(missing, 1), workers * LEAST_PER_WORKER)
    return max(1, min(by_work, by_workers, MAX_WINDOWS))


def check_size(size: int) -> int:
    """The batch size itself, or InputError."""
    if not 1 <= size <= MAX_WINDOWS:
        raise InputError(f"a task run handles 1 to {MAX_WINDOWS} windows, not {size}")
    return size


def split(numbers: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Ascending ``numbers`` in batches of ``size`` neighbours; the last may be smaller.

    Batches of all manifest partitions come in turn, so that workers write to several at
    once: DynamoDB takes 1,000 write units a second of each.
    """
    starts = range(0, len(numbers), check_size(size))
    shards: dict[int, list[tuple[int, ...]]] = {}
    for batch in (tuple(numbers[start : start + size]) for start in starts):
        shards.setdefault(batch[0] // WINDOWS_PER_SHARD, []).append(batch)
    turns = zip_longest(*shards.values())
    return [batch for turn in turns for batch in turn if batch is not None]
