"""Windows become tiles and rows: read, encode, conditional PUT, conditional insert."""

import functools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from scenemosaic import keys
from scenemosaic.auditing.audit import Record
from scenemosaic.auditing.trail import trail
from scenemosaic.committing.commit import COUNTERS, Committed, Outcome, commit_object, commit_row
from scenemosaic.committing.metrics import count_outcomes
from scenemosaic.committing.outcome import OF_WINDOWS
from scenemosaic.compositing.composite import composite
from scenemosaic.compositing.described import merged_template
from scenemosaic.divergence import adopt
from scenemosaic.errors import SourceReadError
from scenemosaic.grids.grid import Window
from scenemosaic.machine import in_hand
from scenemosaic.machine.memory import reuse_large_buffers
from scenemosaic.machine.software import tile_software
from scenemosaic.manifests.port import Row
from scenemosaic.plans.pin import Pin
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.reuse.copying import copy_tile
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.sources.computed_bands import described_metadata, read_computed
from scenemosaic.sources.pins import verify_pin
from scenemosaic.sources.rasters import apply_metadata
from scenemosaic.sources.reading_settings import reading_as
from scenemosaic.stores.port import Body, IfAbsent, ObjectInfo
from scenemosaic.tiff.layout import Template
from scenemosaic.tiff.template import make_template
from scenemosaic.tile import EncodedTile, encode_tile, read_box

_log = logging.getLogger(__name__)
_MAX_PACKED = 60_000
_NOTHING_MET: Mapping[str, int] = dict.fromkeys((*COUNTERS, *OF_WINDOWS), 0)
WindowState = Literal["written", "already-present", "failed"]


@dataclass(frozen=True, slots=True)
class WindowOutcome:
    """What became of one window; ``error`` says why where it failed.

    ``remedy`` is what to do then, where the same command again cannot make it.
    """

    window: str
    outcome: WindowState
    size_bytes: int = 0
    error: str | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The outcomes of a batch, and its counters added up.

    ``unrecorded`` is what a store's fault kept out of the audit log: append it later.
    """

    outcomes: tuple[WindowOutcome, ...]
    counters: Mapping[str, int]
    unrecorded: tuple[Record, ...] = ()


def commit_windows(
    spec: JobSpec,
    numbers: Iterable[int],
    run: Run,
    report: Callable[[WindowOutcome], None] | None = None,
) -> BatchResult:
    """Commit the windows with these numbers, one after the other.

    A window whose source fails to decode, or has changed, is an outcome
    ("failed"); the others are still committed. Store faults that outlast their
    retries and conflicts are raised.
    """
    reuse_large_buffers()
    outcomes = []
    with trail(open_session(spec), spec.plan.job_id, run, "window") as found:
        session = found.session
        for number in in_hand.windows(numbers):
            outcome = _commit_window(session, spec, number, run)
            outcomes.append(outcome)
            if report is not None:
                report(outcome)
    counters = _added(outcomes)
    count_outcomes({name: counters.get(name, 0) for name in (*OF_WINDOWS, "failed")}, "window")
    return BatchResult(tuple(outcomes), counters, found.trace.unrecorded)


def _added(outcomes: Iterable[WindowOutcome]) -> Mapping[str, int]:
    total: Counter[str] = Counter()
    for outcome in outcomes:
        total.update(outcome.counters)
        total[outcome.outcome.replace("-", "_")] += 1
    return dict(total)


def _commit_window(session: Session, spec: JobSpec, number: int, run: Run) -> WindowOutcome:
    copied = copy_tile(session, spec, number, run)
    if copied is None:
        return _compute_window(session, spec, number, run)
    commit_row(session.manifest, copied.row, session.policy, session.effects)
    return _outcome(copied.row.window, copied.row.bytes, copied.committed, reused=1)


def _compute_window(session: Session, spec: JobSpec, number: int, run: Run) -> WindowOutcome:
    window = spec.plan.recipe.tiling().window(number)
    try:
        tile = make_tile(spec, window)
    except SourceReadError as error:
        _log.warning("window %s failed: %s", window.name, error)
        return WindowOutcome(window.name, "failed", error=str(error), remedy=error.remedy)
    committed = _put_tile(session, spec, window, tile, run)
    # Also where the write was ours: a task that is retried elsewhere may encode otherwise.
    tile, diverged = adopt(session, spec, window, tile, committed)
    row = tile_row(session, spec, number, tile, committed.stored, run)
    commit_row(session.manifest, row, session.policy, session.effects)
    return _outcome(window.name, len(tile.data), committed, diverged=diverged)


def _outcome(name: str, size_bytes: int, committed: Committed, **more: int) -> WindowOutcome:
    written = committed.outcome is Outcome.WRITTEN
    counters = _shared({**_NOTHING_MET, **committed.counters, **more})
    state: WindowState = "written" if written else "already-present"
    return WindowOutcome(name, state, size_bytes, counters=counters)


def _shared(counters: Mapping[str, int]) -> Mapping[str, int]:
    """The same, kept once for all windows that met nothing: a run keeps every outcome."""
    return counters if any(counters.values()) else _NOTHING_MET


def make_tile(spec: JobSpec, window: Window) -> EncodedTile:
    """The tile from the pinned sources. Pins are checked after the read: what was read counts.

    Raises SourceReadError where a source does not decode there, or has changed.
    """
    recipe, box = spec.plan.recipe, read_box(window, spec.plan.recipe)
    read: tuple[int, ...] = (0,)
    with reading_as(spec.place.store):
        if recipe.merge is None:
            location, pin = spec.locations[0], spec.plan.sources[0]
            pixels, mask = read_computed(location, box, pin, recipe)
            template = source_template(location, pin, recipe)
        else:
            made = composite(spec.plan, spec.locations, box)
            pixels, mask, read = made.pixels, made.mask, made.read
            template = merged_template(recipe)
        for number in read:
            verify_pin(spec.plan.sources[number], spec.locations[number])
    return encode_tile(pixels, mask, window, recipe, template, box)


@functools.lru_cache(maxsize=8)
def source_template(location: str, pin: Pin, recipe: Recipe) -> Template:
    """The template of a job, with the metadata that its source's header holds."""
    metadata = described_metadata(location, recipe)
    return make_template(recipe, lambda dataset: apply_metadata(dataset, metadata))


def _put_tile(
    session: Session, spec: JobSpec, window: Window, tile: EncodedTile, run: Run
) -> Committed:
    metadata = session.metadata(spec, run, window.name, sha256=tile.sha256)
    body = Body(tile.data, tile.sha256, keys.TIFF_CONTENT_TYPE, metadata)
    key = keys.tile_key(spec.plan.job_id, window.name)
    return commit_object(session.store, key, body, IfAbsent(), session.policy, session.effects)


def tile_row(
    session: Session, spec: JobSpec, number: int, tile: EncodedTile, stored: ObjectInfo, run: Run
) -> Row:
    """The row of a window whose tile is ``tile`` and stands as ``stored``."""
    packed = tile.blocks
    return Row(
        partition=session.partition(spec, number),
        window=spec.plan.recipe.tiling().window(number).name,
        output_uri=session.store.object_uri(stored.key),
        bytes=stored.size_bytes,
        sha256=tile.sha256,
        etag=stored.etag,
        version_id=stored.version_id,
        blocks=packed if len(packed) <= _MAX_PACKED else None,
        crc=tile.crc,
        revision=1,
        written_by=run.written_by,
        written_at=session.now(),
        software=tile_software(tile.deflaters),
    )
