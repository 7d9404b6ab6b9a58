"""The operations on a job, for tasks, flows and the command line to compose."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace

from scenemosaic import gaps, keys
from scenemosaic.auditing import audit
from scenemosaic.auditing.audit import Record
from scenemosaic.auditing.trail import Trace, trail
from scenemosaic.committing.commit import commit_object, retrying
from scenemosaic.errors import MissingSchema, OldSchema
from scenemosaic.gaps import GapReport
from scenemosaic.places import Place, place_at
from scenemosaic.planning import PlanOptions, survey
from scenemosaic.plans.plan import Plan
from scenemosaic.plans.stored_plan import read_plan
from scenemosaic.preflight.memory import Memory
from scenemosaic.preflight.quick import check_manifest, check_store
from scenemosaic.publishing.item import check_describes, read_item
from scenemosaic.publishing.publish import MosaicResult, assemble
from scenemosaic.publishing.published import result, standing
from scenemosaic.reuse.likeness import asks_for_grid, check_likeness, options_like
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.sources.reading_env import reading_as
from scenemosaic.sources.scene_time import notes_of_time
from scenemosaic.stores.port import Body, IfAbsent
from scenemosaic.windows import BatchResult, WindowOutcome, commit_windows

_log = logging.getLogger(__name__)

__all__ = [
    "BatchResult",
    "GapReport",
    "JobSpec",
    "MosaicResult",
    "PlanOptions",
    "Run",
    "WindowOutcome",
    "assemble",
    "commit_windows",
    "find_gaps",
    "finished",
    "load_at",
    "load_job",
    "log_notes",
    "missing_windows",
    "plan_at",
    "plan_job",
    "prepare",
    "publish_plan",
    "record_rest",
]


def plan_job(
    sources: Sequence[str], root: str, manifest: str | None, options: PlanOptions
) -> JobSpec:
    """Pin and check the sources, decide the recipe. Writes nothing; InputError says what to do.

    What was noticed and handled is in the job's ``notes``, for :func:`log_notes` or an answer.
    """
    return plan_at(sources, place_at(root, manifest), options)


def plan_at(sources: Sequence[str], place: Place, options: PlanOptions) -> JobSpec:
    """The same for a place that says how store and manifest are reached."""
    old = None if options.reuse is None else read_plan(place, options.reuse)
    grid = None
    if old is not None:
        grid = None if asks_for_grid(options) else old.recipe.grid
        options = options_like(old, options)
    with reading_as(place.store):
        scene = survey(sources, options, grid)
    if old is not None:
        check_likeness(scene.plan, old)
    spec = _spec(scene.plan, scene.locations, place)
    notes = (*scene.notes, *notes_of_time(scene.plan))
    return replace(spec, reuse=options.reuse, notes=notes)


def log_notes(spec: JobSpec, *, of_time: bool = True) -> None:
    """Log what planning noticed, as warnings; ``of_time``: also that nothing says a time."""
    left_out = () if of_time else notes_of_time(spec.plan)
    for note in spec.notes:
        if note not in left_out:
            _log.warning("%s", note)


def _spec(plan: Plan, locations: tuple[str, ...], place: Place) -> JobSpec:
    store, rows = place.store, place.manifest
    return JobSpec(plan, locations, store.root, rows.url, store.access, rows.access)


def load_job(job_id: str, root: str, manifest: str | None) -> JobSpec:
    """A job by its ID, from ``plan.json`` under the root; its sources' places are not known."""
    return load_at(job_id, place_at(root, manifest))


def load_at(job_id: str, place: Place) -> JobSpec:
    """The same for a place that says how store and manifest are reached."""
    return _spec(read_plan(place, job_id), (), place)


def prepare(spec: JobSpec) -> bool:
    """Make the manifest's table or schema where it is missing; True where it was made.

    Raises PreconditionsIgnored where store or manifest only pretends to enforce
    conditions; this is looked at once for each of them, and remembered.
    """
    session, memory = open_session(spec), Memory()
    check_store(session.store, memory, session.policy, session.effects)
    made = retrying(session.manifest.ensure, session.policy, session.effects)
    check_manifest(session.manifest, memory, session.policy, session.effects)
    return made


def publish_plan(spec: JobSpec, run: Run) -> Trace:
    """Put ``plan.json``, the first object of a job, so that its ID can be looked up."""
    with trail(open_session(spec), spec.plan.job_id, run) as found:
        _put_plan(found.session, spec, run)
    return found.trace


def record_rest(spec: JobSpec, run: Run, records: Sequence[Record]) -> None:
    """Append to the audit log what an earlier fault kept out of it, once.

    Raises StoreError where the fault goes on.
    """
    audit.append(open_session(spec), spec.plan.job_id, run, records, repeated=True)


def _put_plan(session: Session, spec: JobSpec, run: Run) -> None:
    data = spec.plan.canonical
    digest = hashlib.sha256(data).hexdigest()
    body = Body(
        data, digest, "application/json", session.metadata(spec, run, "plan", sha256=digest)
    )
    key = keys.plan_key(spec.plan.job_id)
    commit_object(session.store, key, body, IfAbsent(), session.policy, session.effects)


def find_gaps(spec: JobSpec) -> GapReport:
    """Compare the plan's windows with the manifest's rows, every page of every shard."""
    session = open_session(spec)
    return gaps.find_gaps(spec.plan.recipe.tiling(), _row_names(session, spec))


def missing_windows(spec: JobSpec) -> tuple[int, ...]:
    """The numbers of the windows that have no row yet."""
    tiling = spec.plan.recipe.tiling()
    return tuple(tiling.number(name) for name in find_gaps(spec).missing)


def _row_names(session: Session, spec: JobSpec) -> list[str]:
    def names() -> list[str]:
        try:
            return list(session.manifest.windows(session.partitions(spec)))
        except OldSchema:
            raise
        except MissingSchema:  # nothing was ever committed there
            return []

    return retrying(names, session.policy, session.effects)


def finished(spec: JobSpec) -> MosaicResult | None:
    """The published mosaic of a job with no gap, or None where anything of it is missing.

    Changes nothing and reads no source pixel: item.json, the HEAD of the mosaic to which it
    leads, one query a shard. A preview that was deleted is for assembly and repair to notice.
    Raises ForeignObject where item or mosaic is not ours, or the item is of another mosaic.
    """
    session = open_session(spec)
    item = read_item(session, spec)
    if item is None:
        return None
    mosaic = standing(session, spec, Run("", ""), item.revision)
    if mosaic is None:
        return None
    uri = session.store.object_uri(keys.item_key(spec.plan.job_id))
    check_describes(item, mosaic.stored, uri)
    try:
        names = _row_names(session, spec)
    except OldSchema:  # preparing the job adds what it lacks
        return None
    if keys.MOSAIC_ROW not in names or gaps.find_gaps(spec.plan.recipe.tiling(), names).missing:
        return None
    return result(session, spec, mosaic, item.revision)
