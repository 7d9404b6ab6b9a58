"""Abandoned uploads under a root: which there are, which may be ended, and ending them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from scenemosaic import keys
from scenemosaic.claiming.claims import Claim, State, claim_of
from scenemosaic.errors import MissingSchema, StoreError
from scenemosaic.manifests.port import Manifest
from scenemosaic.stores.port import Collects, Store, Unfinished
from scenemosaic.waiting.retry import Effects, RetryPolicy, retrying

# Where an adapter cannot list what was begun, the store itself ends it.
ENDS_BY_ITSELF: Mapping[str, str] = {
    "gs": "Cloud Storage cannot list upload sessions, and ends an unfinished one after a week",
    "az": "Azure has no open uploads: it drops blocks that were not committed within a week",
}


@dataclass(frozen=True, slots=True)
class Found:
    """One unfinished write, and what became of it.

    ``fate`` is ``abandoned`` (listed only), ``ended``, ``gone`` (it ended meanwhile),
    ``in-use`` (a claim that lives holds it) or ``failed``, with its ``error``.
    """

    upload: Unfinished
    fate: str = "abandoned"
    error: StoreError | None = None


def abandoned(
    store: Store, older_than_s: float, policy: RetryPolicy, effects: Effects
) -> list[Found] | None:
    """What runs of this root began longer ago than the age, by the store's clock.

    None where nothing stays.
    """
    if not isinstance(store, Collects):
        return None
    every = retrying(lambda: list(store.unfinished()), policy, effects)
    ours = (upload for upload in every if keys.is_of_a_large_write(upload.key))
    return [Found(upload) for upload in ours if upload.age_s >= older_than_s]


def end_all(
    store: Store,
    found: Sequence[Found],
    open_rows: Callable[[], Manifest],
    policy: RetryPolicy,
    effects: Effects,
) -> list[Found]:
    """End each, except those that a claim holds whose holder renews it while we look on.

    ``open_rows`` is called only where a claim may hold one of them.
    """
    if not found or not isinstance(store, Collects):
        return list(found)
    living = _living(store.uri, found, open_rows, policy, effects)
    return [_end(store, one, one.upload.upload_id in living) for one in found]


def _end(store: Collects, one: Found, in_use: bool) -> Found:
    if in_use:
        return replace(one, fate="in-use")
    try:
        ended = store.end(one.upload.key, one.upload.upload_id)
    except StoreError as error:
        return replace(one, fate="failed", error=error)
    return replace(one, fate="ended" if ended else "gone")


def _living(
    root_uri: str,
    found: Sequence[Found],
    open_rows: Callable[[], Manifest],
    policy: RetryPolicy,
    effects: Effects,
) -> set[str]:
    """IDs of uploads in claims that changed while their lease ran: no clocks are compared."""
    jobs = {job for one in found if (job := keys.job_of(one.upload.key))}
    ids = {one.upload.upload_id for one in found}
    rows = open_rows() if jobs else None

    def look(job_id: str) -> Claim | None:
        partition = keys.claim_partition(job_id, root_uri)
        claim = rows and retrying(lambda: _claim(rows, partition), policy, effects)
        return claim if claim and claim.state is State.HELD and claim.upload_id in ids else None

    before = {job: claim for job in jobs if (claim := look(job))}
    if not before:
        return set()
    effects.sleep(max(claim.lease_s for claim in before.values()))
    after = {job: claim for job in before if (claim := look(job))}
    changed = [claim for job, claim in after.items() if claim.token != before[job].token]
    return {claim.upload_id for claim in changed if claim.upload_id}


def _claim(rows: Manifest, partition: str) -> Claim | None:
    try:
        row = rows.get(partition, keys.ASSEMBLY_CLAIM)
    except MissingSchema:  # nothing was ever claimed there
        return None
    return claim_of(row) if row else None
