"""The jobs of a root by the plans in its store, the newest first. No manifest is asked."""

import heapq
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Final, TypeVar

from scenemosaic import keys
from scenemosaic.errors import IncompleteError, InputError
from scenemosaic.machine.parallel import in_parallel
from scenemosaic.places import StorePlace
from scenemosaic.plans.plan import MAX_PLAN_BYTES, Plan, load_plan
from scenemosaic.roots import check_folder, check_there, has_outputs, parse_root
from scenemosaic.stores import open_store
from scenemosaic.stores.port import ObjectInfo, Store
from scenemosaic.waiting.retry import RetryPolicy, retrying, system_effects

T = TypeVar("T")

_AT_ONCE: Final = 8
# Larger plans are read one at a time: several of the largest do not fit into memory.
_LARGE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Described:
    """What a plan says of its job. ``source`` is the first one's URI, None where it is a file.

    ``name`` is what people know it by: title, item, or source. ``width`` and ``height`` in pixels.
    """

    name: str
    title: str | None
    source: str | None
    sources: int
    width: int
    height: int
    bands: int
    dtype: str
    windows: int
    datetime: str | None
    collection: str | None


@dataclass(frozen=True, slots=True)
class Listed:
    """A job by its plan. ``planned`` is the plan object's last modification, RFC 3339 in UTC.

    ``finished``: its item.json is there. Of a plan that cannot be read only the ``problem``
    is known, and no ``plan``.
    """

    job_id: str
    planned: str
    finished: bool
    plan: Described | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The newest jobs of a root, and how many there are in ``total``."""

    root: str
    jobs: tuple[Listed, ...]
    total: int


def list_jobs(place: StorePlace, limit: int) -> Listing:
    """The ``limit`` newest jobs under a root. Changes nothing.

    One listing, and of each of these one read of its plan and one HEAD. Raises InputError for a
    local root that is no folder, or was never a root; StoreError.
    """
    root = parse_root(place.root)
    check_folder(root)
    check_there(root.uri)
    with closing(open_store(place.root, place.access)) as store:
        total, found = _again(lambda: newest(store.list(keys.plans_prefix("")), limit))
        if not total and root.scheme == "file" and not has_outputs(root):
            raise InputError(
                f"nothing of scenemosaic is under {root.uri}: is the root spelled right?"
            )
        jobs = in_parallel(partial(_listed, store, Lock()), found, _AT_ONCE)
        return Listing(root.uri, tuple(jobs), total)


def newest(infos: Iterable[ObjectInfo], limit: int) -> tuple[int, list[ObjectInfo]]:
    """How many of the objects are plans, and the newest of these; no more than ``limit`` are held.

    Plans of one second are in the order of their IDs.
    """
    counted = 0

    def plans() -> Iterator[ObjectInfo]:
        nonlocal counted
        for info in infos:
            if keys.job_of_plan(info.key) is not None:
                counted += 1
                yield info

    # As nlargest does it, what is equal stays in the listing's order, which is that of keys.
    found = heapq.nlargest(limit, plans(), key=lambda info: info.last_modified)
    return counted, found


def described(plan: Plan) -> Described:
    """What is said of a job by its plan."""
    recipe, grid, first = plan.recipe, plan.recipe.grid, plan.sources[0]
    return Described(
        name=_name(plan),
        title=plan.title,
        source=first.uri,
        sources=len(plan.sources),
        width=grid.width,
        height=grid.height,
        bands=recipe.bands,
        dtype=recipe.dtype,
        windows=len(recipe.tiling()),
        datetime=plan.datetime,
        collection=plan.collection,
    )


def _name(plan: Plan) -> str:
    if plan.title is not None:
        return plan.title
    kind, _, item = plan.datetime_source.partition(":")
    if kind in ("item", "item-start"):
        return item
    first, more = plan.sources[0], len(plan.sources) - 1
    file = f"a local file of {first.size_bytes} bytes"
    name = file if first.uri is None else first.uri.rstrip("/").rpartition("/")[2]
    return f"{name} and {more} more" if more else name


def _listed(store: Store, large: Lock, info: ObjectInfo) -> Listed:
    job_id = keys.job_of_plan(info.key) or ""
    finished = _again(lambda: store.head(keys.item_key(job_id))) is not None
    listed = partial(Listed, job_id, info.last_modified, finished)
    if info.size_bytes > MAX_PLAN_BYTES:
        return listed(problem=f"plan.json is too large for a plan: {info.size_bytes} bytes")
    try:
        with large if info.size_bytes > _LARGE_BYTES else nullcontext():
            data = _again(lambda: store.get(info.key, etag=info.etag))
            return listed(described(load_plan(data, job_id)))
    except (InputError, IncompleteError) as error:
        return listed(problem=str(error))


def _again(call: Callable[[], T]) -> T:
    return retrying(call, RetryPolicy(), system_effects())
