"""How many windows a task run handles. Pure; decides cost, never pixels."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

from scenemosaic.errors import InputError
from scenemosaic.grids.grid import ceil_div
from scenemosaic.keys import WINDOWS_PER_SHARD
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.recipes.recipe_rules import ITEM_SIZES

MAX_WINDOWS: Final = 200
# A task run of less costs more to record than it is worth; a longer one is long to do again.
LEAST_S: Final = 2.0
MOST_S: Final = 10.0
# In between, so many for each worker that none waits long for another's last batch.
GOOD_PER_WORKER: Final = 16
LEAST_PER_WORKER: Final = 3
# Raw megabytes that one core of 2026 makes tiles of in a second, by codec and from which level
# on: scenes of 1 to 4 bytes a sample and of all sorts are within a factor of about two of it.
MB_PER_S: Final[Mapping[str, tuple[tuple[int, float], ...]]] = {
    "deflate": ((0, 160.0), (3, 90.0), (5, 55.0), (10, 15.0)),
    "zstd": ((0, 140.0), (5, 60.0), (11, 20.0), (14, 4.0)),
    "lzw": ((0, 85.0),),
    "lerc": ((0, 150.0),),
    "jpeg": ((0, 200.0),),
    "webp": ((0, 70.0),),
    "none": ((0, 490.0),),
}
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
    return WINDOW_OVERHEAD_S + megabytes / mb_per_s(recipe) + warp_s


def mb_per_s(recipe: Recipe) -> float:
    """Raw megabytes that a core makes tiles of in a second under a recipe."""
    rates = MB_PER_S[recipe.compress]
    if recipe.compress not in ("deflate", "zstd"):  # the level of the others is a quality
        return rates[0][1]
    return [rate for first, rate in rates if first <= (recipe.level or 0)][-1]


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
