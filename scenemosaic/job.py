"""The operations on a job, for tasks, flows and the command line to compose."""

import hashlib
import logging
from collections.abc import Sequence

from scenemosaic import gaps, keys
from scenemosaic.commit import (
    Outcome,
    RetryPolicy,
    commit_object,
    retrying,
    system_effects,
)
from scenemosaic.errors import InputError, MissingSchema
from scenemosaic.gaps import GapReport
from scenemosaic.plan import MAX_PLAN_BYTES, load_plan
from scenemosaic.planning import PlanOptions, survey
from scenemosaic.preflight.memory import Memory
from scenemosaic.preflight.quick import check_manifest, check_store
from scenemosaic.publish import MosaicResult, assemble
from scenemosaic.published import head, result, standing
from scenemosaic.roots import default_manifest, parse_manifest, parse_root
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.stores import open_store
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
    "load_job",
    "missing_windows",
    "plan_job",
    "prepare",
    "publish_plan",
]


def plan_job(
    sources: Sequence[str], root: str, manifest: str | None, options: PlanOptions
) -> JobSpec:
    """Pin and check the sources, decide the recipe. Writes nothing; InputError says what to do.

    What was noticed and handled is logged as a warning.
    """
    place, rows = _place(root, manifest)
    scene = survey(sources, options)
    for note in scene.notes:
        _log.warning("%s", note)
    return JobSpec(scene.plan, scene.locations, place, rows)


def load_job(job_id: str, root: str, manifest: str | None) -> JobSpec:
    """A job by its ID, from ``plan.json`` under the root; its sources' places are not known."""
    place, rows = _place(root, manifest)
    store, key = open_store(place), keys.plan_key(keys.check_job_id(job_id))
    policy, effects = RetryPolicy(), system_effects()
    info = retrying(lambda: store.head(key), policy, effects)
    if info is None:
        raise InputError(f"{store.uri} holds no job {job_id}: {key} is not there")
    if info.size_bytes > MAX_PLAN_BYTES:
        raise InputError(f"{store.object_uri(key)} is too large for a plan: {info.size_bytes}")
    return JobSpec(
        load_plan(retrying(lambda: store.get(key), policy, effects), job_id), (), place, rows
    )


def _place(root: str, manifest: str | None) -> tuple[str, str]:
    place = parse_root(root)
    return place.uri, parse_manifest(manifest or default_manifest(place)).url


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


def publish_plan(spec: JobSpec, run: Run) -> Outcome:
    """Put ``plan.json``, the first object of a job, so that its ID can be looked up."""
    session = open_session(spec)
    data = spec.plan.canonical
    digest = hashlib.sha256(data).hexdigest()
    body = Body(
        data, digest, "application/json", session.metadata(spec, run, "plan", sha256=digest)
    )
    key = keys.plan_key(spec.plan.job_id)
    return commit_object(
        session.store, key, body, IfAbsent(), session.policy, session.effects
    ).outcome


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
        except MissingSchema:  # nothing was ever committed there
            return []

    return retrying(names, session.policy, session.effects)


def finished(spec: JobSpec) -> MosaicResult | None:
    """The published mosaic of a job with no gap, or None where anything of it is missing.

    Changes nothing and reads no source pixel: item.json, the mosaic's HEAD, one
    query a shard. Raises ForeignObject where the mosaic's key holds what is not ours.
    """
    session = open_session(spec)
    if head(session, keys.item_key(spec.plan.job_id)) is None:
        return None
    mosaic = standing(session, spec, Run("", ""))
    if mosaic is None:
        return None
    names = _row_names(session, spec)
    if keys.MOSAIC_ROW not in names or gaps.find_gaps(spec.plan.recipe.tiling(), names).missing:
        return None
    return result(session, spec, mosaic)
