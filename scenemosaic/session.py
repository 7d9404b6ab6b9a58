"""What crosses processes (:class:`JobSpec`, :class:`Run`), and the clients opened from it."""

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from scenemosaic import keys
from scenemosaic.claims import Claims, ClaimSettings, settings_from
from scenemosaic.commit import Effects, RetryPolicy, system_effects
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Manifest
from scenemosaic.plan import Plan
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Store


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job and where it lives: small, picklable, without clients, pixels or credentials.

    ``locations`` are the paths or URIs of the plan's sources, in its order.
    """

    plan: Plan
    locations: tuple[str, ...]
    root: str
    manifest: str = field(repr=False)  # may hold a password


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job: its ID is part of every write-id, ``written_by`` stands in the rows."""

    run_id: str
    written_by: str

    def write_id(self, name: str) -> str:
        """The write-id of an object of this run; a task's retry has the same."""
        return f"{self.run_id}/{name}"


def now_utc() -> str:
    """The time of day, RFC 3339 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Session:
    """Open clients with the rules of trying again; one for each process and job's place."""

    store: Store
    manifest: Manifest
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    effects: Effects = field(default_factory=system_effects)
    now: Callable[[], str] = now_utc
    claiming: ClaimSettings = field(default_factory=ClaimSettings)

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
    return _open(spec.root, spec.manifest)


@functools.lru_cache(maxsize=8)
def _open(root: str, manifest: str) -> Session:
    claiming = settings_from(os.environ)
    return Session(open_store(root), open_manifest(manifest), claiming=claiming)
