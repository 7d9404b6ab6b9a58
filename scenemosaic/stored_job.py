"""A job that stands under its root: loaded, and its gaps.

What only looks at a job, or assembles it, needs nothing that plans, warps or computes pixels.
"""

from scenemosaic import gaps
from scenemosaic.gaps import GapReport
from scenemosaic.job_rows import row_names
from scenemosaic.places import Place, place_at
from scenemosaic.plans.plan import Plan
from scenemosaic.session import JobSpec, open_session
from scenemosaic.stored_plan import read_plan


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
    return gaps.find_gaps(spec.plan.recipe.tiling(), row_names(session, spec))


def missing_windows(spec: JobSpec) -> tuple[int, ...]:
    """The numbers of the windows that have no row yet."""
    tiling = spec.plan.recipe.tiling()
    return tuple(tiling.number(name) for name in find_gaps(spec).missing)
