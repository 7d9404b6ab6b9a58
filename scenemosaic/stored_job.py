"""A job that stands under its root: loaded, its gaps, its finished mosaic.

What only looks at a job, or assembles it, needs nothing that plans, warps or computes pixels.
"""

from scenemosaic import gaps, keys
from scenemosaic.committing.commit import retrying
from scenemosaic.errors import MissingSchema, OldSchema
from scenemosaic.gaps import GapReport
from scenemosaic.places import Place, place_at
from scenemosaic.plans.plan import Plan
from scenemosaic.plans.stored_plan import read_plan
from scenemosaic.publishing.item import check_describes, read_item
from scenemosaic.publishing.publish import MosaicResult
from scenemosaic.publishing.published import result, standing
from scenemosaic.session import JobSpec, Run, Session, open_session


def load_job(job_id: str, root: str, manifest: str | None) -> JobSpec:
    """A job by its ID, from ``plan.json`` under the root; its sources' places are not known."""
    return load_at(job_id, place_at(root, manifest))


def load_at(job_id: str, place: Place) -> JobSpec:
    """The same for a place that says how store and manifest are reached."""
    return spec_at(read_plan(place, job_id), (), place)


def spec_at(plan: Plan, locations: tuple[str, ...], place: Place) -> JobSpec:
    """The job of a plan at a place, by which it is reached."""
    store, rows = place.store, place.manifest
    return JobSpec(plan, locations, store.root, rows.url, store.access, rows.access)


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
