"""Sources and options become a plan, or are refused, from headers alone. Nothing is written."""

from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

from scenemosaic.canonical import encode
from scenemosaic.compositing.points import same_crs
from scenemosaic.discovery.given import given_sources
from scenemosaic.errors import InputError
from scenemosaic.grids.grid import Grid
from scenemosaic.machine.parallel import in_parallel
from scenemosaic.planning.asked import check_options
from scenemosaic.planning.decide import decide
from scenemosaic.planning.images import Named
from scenemosaic.planning.kept import check_kept
from scenemosaic.planning.looked import Looked, check_unchanged, look, named
from scenemosaic.planning.merging import (
    is_merged,
    is_ordered,
    merge_images,
)
from scenemosaic.planning.span import span_of
from scenemosaic.planning.target import target_grid
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import Plan, PlanOptions
from scenemosaic.words import counted

A = TypeVar("A")
B = TypeVar("B")
_WORKERS: Final = 8
_MOST_NOTES: Final = 8
_MOSAIC: Final = "the mosaic of these sources"


@dataclass(frozen=True, slots=True)
class PlannedScene:
    """A plan, where its sources lie (not part of it), and what was noticed and handled."""

    plan: Plan
    locations: tuple[str, ...]
    notes: tuple[str, ...]


def plan_scene(sources: Sequence[str], options: PlanOptions) -> tuple[Plan, tuple[str, ...]]:
    """The plan for ``sources``, and their canonical locations. See :func:`survey`."""
    scene = survey(sources, options)
    return scene.plan, scene.locations


def survey(sources: Sequence[str], options: PlanOptions, grid: Grid | None = None) -> PlannedScene:
    """Pin the sources, check their headers, decide the recipe. Reads no pixel, writes nothing.

    Several sources become one image on one grid; where their order does not decide pixels,
    the plan sorts them. ``grid`` is the mosaic's, where it is given already.
    Raises InputError in one line, naming file, reason and what to do, for
    everything that cannot become a mosaic equal to its source; StoreError where
    a remote source cannot be reached.
    """
    check_options(options)
    given = given_sources(sources, options.asset, options.item)
    if not given:
        raise InputError("give a source: a GeoTIFF's path, s3://… or https://…")
    looked = _in_threads(partial(look, options=options), given)
    merged = is_merged(len(given), options)
    scene = _of_several(looked, options, grid) if merged else _of_one(looked[0], options)
    _in_threads(check_unchanged, looked)
    return scene


def _in_threads(work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """``work`` of each in threads that know how the caller reaches its sources."""
    if len(items) == 1:
        return [work(items[0])]
    calls = [(copy_context(), item) for item in items]
    return list(in_parallel(lambda call: call[0].run(work, call[1]), calls, _WORKERS))


def _of_one(source: Looked, options: PlanOptions) -> PlannedScene:
    name, notes = source.name, list[str]()
    recipe = named(name, lambda: decide(source.image, options, notes))
    named(name, lambda: check_kept(source.image.metadata, recipe))
    plan = Plan((source.pin,), recipe, *source.taken, options.collection, options.title)
    every = [*source.notes, *notes]
    return PlannedScene(plan, (source.location,), tuple(f"{name}: {note}" for note in every))


def _of_several(looked: Sequence[Looked], options: PlanOptions, grid: Grid | None) -> PlannedScene:
    notes = _notes_of(looked)
    sources = _alike(_distinct(looked, notes))
    grid = grid or target_grid(_named_images(sources), options, notes)
    sources = _in_order(sources, options)
    merged = merge_images(_named_images(sources), options, notes, grid)
    recipe = named(_MOSAIC, lambda: decide(merged.image, options, notes, merged.merge))
    named(_MOSAIC, lambda: check_kept(merged.image.metadata, recipe))
    kept = [sources[number] for number in merged.touching]
    start, time, time_source = span_of([one.taken for one in kept], notes)
    plan = Plan(
        tuple(one.pin for one in kept),
        recipe,
        time,
        time_source,
        options.collection,
        options.title,
        start,
        tuple(one.image.grid for one in kept),
    )
    return PlannedScene(plan, tuple(one.location for one in kept), tuple(notes))


def _notes_of(looked: Sequence[Looked]) -> list[str]:
    kept = "kept as it is"  # which a mosaic of several does not
    every = [(one.name, note) for one in looked for note in one.notes]
    notes = [f"{name}: {note}" for name, note in every if not note.endswith(kept)]
    if len(notes) <= _MOST_NOTES:
        return notes
    return [*notes[:_MOST_NOTES], f"… and {len(notes) - _MOST_NOTES} more notes on other sources"]


def _distinct(looked: Sequence[Looked], notes: list[str]) -> list[Looked]:
    """Each content once, where it was named first."""
    found: dict[Pin, Looked] = {}
    for one in looked:
        found.setdefault(one.pin, one)
    sources = list(found.values())
    if (twice := len(looked) - len(sources)) > 0:
        notes.append(f"{counted(twice, 'source')} given more than once: taken once")
    return sources


def _alike(sources: Sequence[Looked]) -> list[Looked]:
    """The sources with one spelling of each CRS: files name the same one in many ways."""
    spellings: list[str] = []
    alike = []
    for one in sources:
        grid = one.image.grid
        wkt = next((wkt for wkt in spellings if same_crs(wkt, grid.crs_wkt)), None)
        if wkt is None:
            spellings.append(wkt := grid.crs_wkt)
        image = replace(one.image, grid=replace(grid, crs_wkt=wkt))
        alike.append(one if wkt == grid.crs_wkt else replace(one, image=image))
    return alike


def _in_order(sources: Sequence[Looked], options: PlanOptions) -> list[Looked]:
    """As they were given where that decides pixels."""
    if is_ordered(options):
        return list(sources)
    return sorted(sources, key=lambda one: encode(one.pin.to_json()))


def _named_images(sources: Sequence[Looked]) -> list[Named]:
    return [Named(one.name, one.image) for one in sources]
