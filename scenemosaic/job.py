"""The operations on a job, for tasks, flows and the command line to compose."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace

from scenemosaic import keys
from scenemosaic.auditing import audit
from scenemosaic.auditing.audit import Record
from scenemosaic.auditing.trail import Trace, trail
from scenemosaic.committing.commit import commit_object, retrying
from scenemosaic.gaps import GapReport
from scenemosaic.places import Place, place_at
from scenemosaic.planning import PlanOptions, survey
from scenemosaic.preflight.memory import Memory
from scenemosaic.preflight.quick import check_manifest, check_store
from scenemosaic.publishing.finished import finished
from scenemosaic.publishing.publish import MosaicResult, assemble
from scenemosaic.reuse.likeness import asks_for_grid, check_likeness, options_like
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.sources.reading_settings import reading_as
from scenemosaic.sources.scene_time import notes_of_time
from scenemosaic.stored_job import (
    find_gaps,
    load_at,
    load_job,
    missing_windows,
    spec_at,
)
from scenemosaic.stored_plan import read_plan
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
    spec = spec_at(scene.plan, scene.locations, place)
    notes = (*scene.notes, *notes_of_time(scene.plan))
    return replace(spec, reuse=options.reuse, notes=notes)


def log_notes(spec: JobSpec, *, of_time: bool = True) -> None:
    """Log what planning noticed, as warnings; ``of_time``: also that nothing says a time."""
    left_out = () if of_time else notes_of_time(spec.plan)
    for note in spec.notes:
        if note not in left_out:
            _log.warning("%s", note)


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
