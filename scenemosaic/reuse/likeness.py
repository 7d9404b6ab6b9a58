"""Which windows of two jobs are the same, and how a job is planned like another. Pure."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Final

from scenemosaic.compositing.boxes import Box
from scenemosaic.compositing.composite import touching
from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Grid, Window
from scenemosaic.plans.asked_again import options_of
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import Plan, PlanOptions
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.tile import read_box
from scenemosaic.words import some

_DEFAULTS: Final = PlanOptions()
_NAMES: Final = {
    "merge": "method, warp resampling or shared metadata",
    "computed": "band maths",
    "nbits": "number of bits",
}


def options_like(old: Plan, asked: PlanOptions) -> PlanOptions:
    """The options of an earlier job, and what was asked for beside ``reuse``.

    A grid is the earlier job's, or is asked for as a whole.
    """
    given = {
        field.name: value
        for field in fields(PlanOptions)
        if (value := getattr(asked, field.name)) != getattr(_DEFAULTS, field.name)
    }
    options = options_of(old)
    if asks_for_grid(asked):
        options = replace(options, crs=None, resolution=None, bounds=None)
    return replace(options, **given)


def asks_for_grid(options: PlanOptions) -> bool:
    """Whether a grid was asked for, which then has to be the earlier job's."""
    return any(one is not None for one in (options.crs, options.resolution, options.bounds))


def check_likeness(new: Plan, old: Plan) -> None:
    """Raise InputError, naming what differs, where no tile can be taken over."""
    job_id = old.job_id
    if old.recipe.merge is None:
        raise InputError(
            f"--reuse {job_id}: that job is of one source as it stands, and its grid would change "
            "with another: begin with --bounds or several sources"
        )
    if old.recipe.encoding_version != new.recipe.encoding_version:
        raise InputError(
            f"--reuse {job_id}: an earlier version of this software planned that job: leave "
            "out --reuse once"
        )
    if differing := _differing(new.recipe, old.recipe):
        raise InputError(
            f"--reuse {job_id}: with these sources and options the mosaic has another "
            f"{some(differing)} than that job's: leave out --reuse, or what changes it"
        )


def _differing(one: Recipe, other: Recipe) -> list[str]:
    ours, theirs = one.to_json(), _warped_as(one, other).to_json()
    names = sorted({*ours, *theirs})
    wrong = [name for name in names if ours.get(name) != theirs.get(name)]
    return [_NAMES.get(name, name.replace("_", " ")) for name in wrong]


def _warped_as(one: Recipe, other: Recipe) -> Recipe:
    """``other``, whose kernel does not matter where one of them has no source off its grid.

    Windows of the same sources have none then.
    """
    if one.merge is None or other.merge is None or None not in (one.merge.warp, other.merge.warp):
        return other
    return replace(other, merge=replace(other.merge, warp=one.merge.warp))


def is_same(new: Plan, old: Plan, window: Window) -> bool:
    """Whether a window is made of the same sources in both jobs, whose recipes are the same."""
    read = read_box(window, new.recipe)
    box = Box(read.y0, read.x0, read.y1, read.x1)
    return _sources(new, box) == _sources(old, box)


def same_windows(new: Plan, old: Plan) -> Iterator[Window]:
    """The windows that can be taken over, in the order of their numbers."""
    return (window for window in new.recipe.tiling().windows() if is_same(new, old, window))


def _sources(plan: Plan, box: Box) -> list[tuple[Pin, Grid]]:
    return [(plan.sources[number], plan.grids[number]) for number in touching(plan, box)]
