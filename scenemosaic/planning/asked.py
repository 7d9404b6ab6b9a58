"""What no source can be made into, seen before one is looked at: errors name the option alone."""

from collections.abc import Callable

from scenemosaic.errors import InputError
from scenemosaic.planning.computed import check_computed
from scenemosaic.planning.merging import check_merge_options
from scenemosaic.plans.plan import PlanOptions, check_collection, check_title, utc_datetime
from scenemosaic.recipes.recipe_rules import (
    EFFORTS,
    LEVELS,
    LOSSY,
    RESAMPLINGS,
    check_choice,
    check_effort,
    check_level,
)
from scenemosaic.recipes.window_choice import BLOCKS

_LEAST_BLOCK_PX = 16
# Half of a block has to be a block, too: see scenemosaic.recipes.seed.
_LEAST_LOSSY_BLOCK_PX = 32


def check_options(options: PlanOptions) -> None:
    """Raises InputError, in one line."""
    _check_sizes(options)
    _check_coding(options)
    if options.datetime is not None:
        utc_datetime(options.datetime)
    if options.collection is not None:
        check_collection(options.collection)
    if options.title is not None:
        check_title(options.title)
    check_computed(options)
    check_merge_options(options)


def _check_sizes(options: PlanOptions) -> None:
    window: object = options.window
    block = options.block_size
    if block is not None and (block < _LEAST_BLOCK_PX or block % _LEAST_BLOCK_PX):
        raise InputError(f"--block-size must be a multiple of 16, not {block}")
    if block is not None and options.compress in LOSSY and block % _LEAST_LOSSY_BLOCK_PX:
        raise InputError(
            f"--block-size must be a multiple of 32 for {options.compress}, not {block}: smaller "
            "levels would depend on the window's size"
        )
    if window == "auto":
        return
    if type(window) is not int or window < 1:
        raise InputError(f'--window must be "auto" or a number of pixels, not {window!r}')
    if not any(window % size == 0 for size in (BLOCKS if block is None else (block,))):
        what = "512, or of the --block-size" if block is None else f"--block-size {block}"
        raise InputError(f"--window must be a multiple of {what}, not {window}")


def _check_coding(options: PlanOptions) -> None:
    check_choice("--compress", options.compress, tuple(LEVELS))
    check_choice("--effort", options.effort, EFFORTS)
    if options.resampling is not None:
        check_choice("--resampling", options.resampling, RESAMPLINGS)
    _named("--level", lambda: check_level(options.compress, options.level))
    _named("--effort", lambda: check_effort(options.effort, options.compress, options.level))


def _named(option: str, check: Callable[[], None]) -> None:
    try:
        check()
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
