"""How many windows a task run handles. Pure; decides cost, never pixels."""

from collections.abc import Sequence
from typing import Final

from scenemosaic.errors import InputError
from scenemosaic.grid import ceil_div
from scenemosaic.recipe import Recipe

MAX_WINDOWS: Final = 200
TARGET_S: Final = 2.0
BATCHES_PER_WORKER: Final = 3
# Measured on one core with DEFLATE; a faster codec only makes a batch shorter than the target.
SAMPLES_PER_S: Final = 13e6
WINDOW_OVERHEAD_S: Final = 0.01


def window_seconds(recipe: Recipe) -> float:
    """A rough estimate of one worker's seconds for one full window."""
    side_x = min(recipe.window_size, recipe.grid.width)
    side_y = min(recipe.window_size, recipe.grid.height)
    return WINDOW_OVERHEAD_S + side_x * side_y * recipe.bands / SAMPLES_PER_S


def batch_size(recipe: Recipe, missing: int, workers: int) -> int:
    """Windows a batch: about two seconds of work or more, yet enough batches for all workers."""
    by_work = ceil_div(round(TARGET_S * 1e6), max(1, round(window_seconds(recipe) * 1e6)))
    by_workers = ceil_div(max(missing, 1), workers * BATCHES_PER_WORKER)
    return max(1, min(by_work, by_workers, MAX_WINDOWS))


def check_size(size: int) -> int:
    """The batch size itself, or InputError."""
    if not 1 <= size <= MAX_WINDOWS:
        raise InputError(f"a task run handles 1 to {MAX_WINDOWS} windows, not {size}")
    return size


def split(numbers: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """``numbers`` in their order, in batches of ``size``; the last may be smaller."""
    starts = range(0, len(numbers), check_size(size))
    return [tuple(numbers[start : start + size]) for start in starts]
