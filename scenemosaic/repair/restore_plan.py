"""``plan.json`` of a job, gone or damaged: planned again from the sources, and put back."""

import contextlib
import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from scenemosaic import job, keys
from scenemosaic.auditing.trail import trail
from scenemosaic.committing.commit import Outcome, commit_object, retrying
from scenemosaic.errors import InputError, PlanLost, SourceChanged, Superseded
from scenemosaic.places import Place
from scenemosaic.plans.plan import Plan, PlanOptions
from scenemosaic.publishing.item import MAX_ITEM_BYTES
from scenemosaic.repair.item_options import options_of
from scenemosaic.repair.outcome import describe_object
from scenemosaic.repair.plan_again import options_shown, plan_like
from scenemosaic.session import JobSpec, Run, open_session
from scenemosaic.store_session import StoreSession
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Body, IfAbsent, IfMatch, ObjectInfo
from scenemosaic.tiff.ifd import BadTiff

# Directories come first in our files: those of the largest tile fit.
_HEADER_BYTES: Final = 8 << 20
_LOOKED_AT: Final = 4
_COPY: Final = (
    "put an older version of its plan back, or any copy: its SHA-256 begins with the job's ID"
)
_PROCESS: Final = "process the same sources again with the same options, which puts it back; or "

T = TypeVar("T")
_log = logging.getLogger(__name__)
Loaded = tuple[JobSpec, bool]


def load(job_id: str, place: Place, sources: Sequence[str], run: Run) -> Loaded:
    """The job, and whether its ``plan.json`` had to be put back.

    Raises InputError where there is no such job, or a plan from ``sources`` (or the URIs that
    its item names) has another ID: then nothing was written; SourceChanged where these are
    known to be other sources; Superseded where somebody else changed the plan meanwhile.
    """
    with contextlib.suppress(PlanLost):
        return job.load_at(job_id, place), False
    with closing(open_store(place.store.root, place.store.access)) as store:
        left = _Left(StoreSession(store), job_id)
        standing = left.head(keys.plan_key(job_id))
        spec = left.planned_again(place, sources, standing)
    _put_back(spec, standing, run)
    return job.load_at(job_id, place), True


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of a job without a plan."""

    session: StoreSession
    job_id: str

    def head(self, key: str) -> ObjectInfo | None:
        return self._ask(partial(self.session.store.head, key))

    def planned_again(
        self, place: Place, sources: Sequence[str], standing: ObjectInfo | None
    ) -> JobSpec:
        """The job by planning its sources."""
        item = self._item()
        # A run writes only where nothing stands, and nothing at all for a finished job.
        remedy = _PROCESS + _COPY if standing is None and item is None else _COPY
        pins = [] if item is None else list(item["properties"]["scenemosaic:sources"])
        found = list(sources) or [pin["uri"] for pin in pins if "uri" in pin]
        if not found:
            raise InputError(
                f"{self.uri} is gone or damaged: say with --source where the job's source lies, "
                "and it is planned again; or put an older version of it back, or any copy"
            )
        near = self._near(found, place, item, remedy)
        plan = plan_like(_dated(near.plan, item), self.job_id)
        if plan is None:
            raise self._other(near, pins, remedy)
        return replace(near, plan=plan)

    def _near(self, sources: Sequence[str], place: Place, item: Any, remedy: str) -> JobSpec:
        try:
            return job.plan_at(sources, place, self._options(item))
        except InputError as error:
            raise type(error)(
                f"{self.uri} is gone or damaged, and cannot be planned again from what is left "
                f"(band maths and merging show in the item alone): {error}; {remedy}"
            ) from error

    @property
    def uri(self) -> str:
        return self.session.store.object_uri(keys.plan_key(self.job_id))

    def _other(self, near: JobSpec, pins: Sequence[Any], remedy: str) -> InputError:
        theirs = [pin.to_json() for pin in near.plan.sources]
        # In another order they are the same sources: --method max, say, has them sorted.
        if pins and sorted(map(_spelled, theirs)) != sorted(map(_spelled, pins)):
            return SourceChanged(
                f"{self.uri} cannot be planned again: job {self.job_id} is of {_spelled(pins)}, "
                f"and these sources are {_spelled(theirs)}, which makes job "
                f"{near.plan.job_id}; restore the source"
            )
        return InputError(
            f"{self.uri} cannot be planned again: these sources make job {near.plan.job_id}, and "
            f"job {self.job_id} was asked for otherwise; {remedy}"
        )

    def _options(self, item: Any) -> PlanOptions:
        options = self._shown()
        return options if item is None else options_of(item, options)

    def _shown(self) -> PlanOptions:
        for info, _ in zip(self._files(), range(_LOOKED_AT), strict=False):
            try:
                return options_shown(self._get(info.key, min(info.size_bytes, _HEADER_BYTES)))
            except BadTiff as error:
                _log.warning("%s: %s", self.session.store.object_uri(info.key), error)
        return PlanOptions()

    def _files(self) -> Iterator[ObjectInfo]:
        """Tiles, then mosaics."""
        for key in (keys.tile_key(self.job_id, ""), keys.item_key(self.job_id)):
            for info in self.session.store.list(keys.folder_of(key)):
                if info.key.endswith(".tif"):
                    yield info

    def _item(self) -> Any:
        """The item as JSON, where it is one of this job; else None."""
        info = self.head(keys.item_key(self.job_id))
        if info is None or info.size_bytes > MAX_ITEM_BYTES:
            return None
        try:
            item = json.loads(self._get(info.key))
            properties = item["properties"]
            known = {"scenemosaic:datetime_source", "scenemosaic:sources", "datetime"}
            return item if item["id"] == self.job_id and known <= set(properties) else None
        except (ValueError, KeyError, TypeError):
            return None

    def _get(self, key: str, size_bytes: int | None = None) -> bytes:
        return self._ask(partial(self.session.store.get, key, 0, size_bytes))

    def _ask(self, call: Callable[[], T]) -> T:
        return retrying(call, self.session.policy, self.session.effects)


def _dated(plan: Plan, item: Any) -> Plan:
    """The plan with the item's time: where STAC items led to sources, these don't show it."""
    if item is None:
        return plan
    properties = item["properties"]
    when, source = properties["datetime"], properties["scenemosaic:datetime_source"]
    start = None if when is None else properties.get("start_datetime")
    try:
        return replace(plan, datetime=when, datetime_source=source, start_datetime=start)
    except (InputError, TypeError, ValueError):  # damaged: then it is no help
        return plan


def _spelled(pins: Any) -> str:
    return json.dumps(pins, sort_keys=True)


def _put_back(spec: JobSpec, standing: ObjectInfo | None, run: Run) -> None:
    job_id, data = spec.plan.job_id, spec.plan.canonical
    sha256, key = hashlib.sha256(data).hexdigest(), keys.plan_key(job_id)
    with trail(open_session(spec), job_id, run) as found:
        session = found.session
        name = "plan" if standing is None else f"plan@{sha256[:16]}/{standing.etag.strip(chr(34))}"
        metadata = session.metadata(spec, run, name, sha256=sha256)
        condition = IfAbsent() if standing is None else IfMatch(standing.etag)
        body = Body(data, sha256, "application/json", metadata)
        done = commit_object(session.store, key, body, condition, session.policy, session.effects)
        uri = session.store.object_uri(key)
        if done.outcome in (Outcome.SUPERSEDED, Outcome.TARGET_GONE):
            raise Superseded(f"{uri} was changed by somebody else since it was looked at: verify")
        if done.outcome is Outcome.WRITTEN:
            found.note(
                "plan-restored", key, former_object=describe_object(standing), etag=done.stored.etag
            )
    _log.warning("%s was planned again and put back", uri)
