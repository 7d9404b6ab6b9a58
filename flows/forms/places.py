"""Where a flow's outputs go, as its parameters say it: a root, or a block that holds one."""

from collections.abc import Sequence

from scenemosaic import job
from scenemosaic.errors import InputError
from scenemosaic.job import JobSpec
from scenemosaic.places import Place, StorePlace, manifest_at, place_at
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.roots import holds_password, parse_root
from tasks import credentials as _resolvers  # noqa: F401  # a block's credentials are found by it
from tasks.loading import load


def place_of(to: str | None, manifest: str | None, store: str | None) -> Place:
    """The place of exactly one of a root and a Scene Store block's name.

    ``manifest`` goes before the block's own. Raises InputError where the place is not clear,
    or Prefect holds no such block.
    """
    if to is None and store is None:
        raise InputError(
            "nothing says where outputs go: give to (a root), or store (a block's name)"
        )
    if to is not None and store is not None:
        raise InputError("give to (a root) or store (a block's name), and not both")
    if store is None:
        return place_at(str(to), manifest)
    # It nests credentials, and their packages take longer to import than a scene to plan.
    from blocks import SceneStore

    place = load(SceneStore, store).spec()
    return place if manifest is None else Place(place.store, manifest_at(manifest))


def recorded_place(to: str | None, manifest: str | None, store: str | None) -> Place:
    """The same for a flow's parameters, which Prefect keeps and shows: a password is refused."""
    if manifest is not None and holds_password(manifest):
        raise InputError(
            "leave the password out of the manifest's URL, since Prefect keeps and shows "
            "parameters: save it in a Secret block, nested in a Tile Manifest block"
        )
    return place_of(to, manifest, store)


def store_of(to: str | None, store: str | None) -> StorePlace:
    """Of exactly one of a root and a Scene Store block's name the store alone."""
    if to is not None and store is None:
        return StorePlace(parse_root(to).uri)
    return place_of(to, None, store).store


def planned(sources: Sequence[str], place: Place, options: PlanOptions) -> JobSpec:
    """The job of one scene at a place, its notes logged. Raises what ``job.plan_at`` raises."""
    spec = job.plan_at(sources, place, options)
    job.log_notes(spec)
    return spec


def loaded(job_id: str, place: Place) -> JobSpec:
    """A job by its ID. Raises InputError, StoreError; see ``job.load_at``."""
    return job.load_at(job_id, place)
