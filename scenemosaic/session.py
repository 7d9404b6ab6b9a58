"""What crosses processes (:class:`JobSpec`, :class:`Run`), and the clients opened from it."""

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from scenemosaic import keys
from scenemosaic.access import ENVIRONMENT, Access
from scenemosaic.claiming.claims import Claims, ClaimSettings, settings_from
from scenemosaic.committing.commit import Effects, RetryPolicy, retrying, system_effects
from scenemosaic.committing.history import Looks
from scenemosaic.committing.witness import Witness, witnessed
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Manifest
from scenemosaic.places import ManifestPlace, Place, StorePlace
from scenemosaic.plans.plan import Plan
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Store
from scenemosaic.waiting.retry import now_rfc3339


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job and where it lives: small, picklable, without clients, pixels or credentials.

    ``locations`` are the paths or URIs of the plan's sources, in its order. Sources are reached
    as the store is. ``reuse`` is the ID of a job under the same root whose tiles are taken over
    where they are the same (:mod:`scenemosaic.reuse`). ``notes`` are what planning noticed, for
    every log and answer alike.
    """

    plan: Plan
    locations: tuple[str, ...]
    root: str
    manifest: str = field(repr=False)  # may hold a password
    store_access: Access = ENVIRONMENT
    manifest_access: Access = ENVIRONMENT
    reuse: str | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def place(self) -> Place:
        """Root and manifest with how each is reached."""
        store = StorePlace(self.root, self.store_access)
        return Place(store, ManifestPlace(self.manifest, self.manifest_access))


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job: its ID is part of every write-id, ``written_by`` stands in the rows.

    ``operator`` is who the audit log says had it done. With ``strict_history`` a key that
    once held something is refused before it is written (:mod:`scenemosaic.committing.history`).
    """

    run_id: str
    written_by: str
    operator: str = ""
    strict_history: bool = False

    def write_id(self, name: str) -> str:
        """The write-id of an object of this run; a task's retry has the same."""
        return f"{self.run_id}/{name}"


@dataclass(frozen=True, slots=True)
class Session:
    """Open clients with the rules of trying again; one for each process and job's place."""

    store: Store
    manifest: Manifest
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    effects: Effects = field(default_factory=system_effects)
    now: Callable[[], str] = now_rfc3339
    claiming: ClaimSettings = field(default_factory=ClaimSettings)
    looks: Looks = field(default_factory=Looks, repr=False, compare=False)

    def witnessed(self, witness: Witness) -> "Session":
        """The same session, whose commits are told to ``witness``."""
        return replace(self, effects=witnessed(self.effects, witness))

    def get(self, key: str, offset: int, size_bytes: int, etag: str) -> bytes:
        """A range of this version of an object, asked for again where that may help.

        Raises IncompleteError where the object is gone, or is another one.
        """
        read = partial(self.store.get, key, offset, size_bytes, etag)
        return retrying(read, self.policy, self.effects)

    def claims(self) -> Claims:
        """The claims kept in this session's manifest."""
        return Claims(self.manifest, self.claiming, self.policy, self.effects, self.now)

    def partition(self, spec: JobSpec, number: int = 0) -> str:
        """The manifest partition of a window."""
        return keys.partition(spec.plan.job_id, self.store.uri, number)

    def partitions(self, spec: JobSpec) -> list[str]:
        """Every partition that holds rows of the job."""
        windows = len(spec.plan.recipe.tiling())
        return keys.partitions(spec.plan.job_id, self.store.uri, windows)

    def metadata(self, spec: JobSpec, run: Run, name: str, **more: str) -> Mapping[str, str]:
        """What every object of ours carries."""
        return {"job_id": spec.plan.job_id, "write_id": run.write_id(name), **more}


def open_session(spec: JobSpec) -> Session:
    """The session for a job's root and manifest; clients are shared within the process.

    ``SCENEMOSAIC_CLAIM_LEASE_S`` sets for how long a claim's holder may be silent.
    """
    return open_place(spec.place)


@functools.lru_cache(maxsize=8)
def open_place(place: Place) -> Session:
    """The session of all jobs at a place, never closed."""
    return session_at(place, settings_from(os.environ))


def session_at(place: Place, claiming: ClaimSettings | None = None) -> Session:
    """A session of its own for a place, whose store and manifest the caller closes."""
    return Session(
        open_store(place.store.root, place.store.access),
        open_manifest(place.manifest.url, place.manifest.access),
        claiming=claiming or ClaimSettings(),
    )
