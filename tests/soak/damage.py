"""What a soak spoils of finished jobs, as bad disks and careless people do."""

import hashlib
import json
from collections.abc import Sequence
from typing import Protocol

from scenemosaic import keys
from tests.soak.evidence import RowSeen, Version, Wanted

SPOILT = slice(-28, -20)


class Place(Protocol):
    """A root and its manifest, past the adapters, and where its scenes come from."""

    @property
    def name(self) -> str: ...
    @property
    def root(self) -> str: ...
    @property
    def manifest(self) -> str: ...
    @property
    def prefix(self) -> str: ...
    @property
    def needs_sources(self) -> bool: ...
    def location(self, name: str) -> str: ...
    def read(self, key: str) -> bytes: ...
    def keys(self) -> list[str]: ...
    def history(self) -> dict[str, list[Version]]: ...
    def rows(self) -> list[RowSeen]: ...
    def uploads(self) -> list[str]: ...
    def spoil(self, key: str) -> None: ...
    def delete(self, key: str) -> None: ...
    def delete_row(self, partition: str, window: str) -> None: ...


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def spoilt(data: bytes) -> bytes:
    """The same with other bytes in its last block; however often, never as it was before."""
    changed = bytearray(data)
    changed[SPOILT] = hashlib.sha256(data).digest()[:8]
    return bytes(changed)


def mosaic_of(place: Place, job_id: str) -> str:
    """The key of the mosaic to which a job's item leads."""
    item = json.loads(place.read(keys.item_key(job_id)))
    hrefs = [one["href"] for one in item["assets"].values()]
    (href,) = (one for one in hrefs if one.endswith(keys.MOSAIC_FILE))
    return f"mosaics/{job_id}/{href.removeprefix('./')}"


def published(place: Place, jobs: Sequence[Wanted]) -> list[Wanted]:
    """Of the jobs, those that have an item."""
    standing = set(place.keys())
    return [job for job in jobs if keys.item_key(job.job_id) in standing]


def damage(place: Place, jobs: Sequence[Wanted], chance: float) -> tuple[Wanted, str] | None:
    """Spoil something of a finished job; which one and what, or None where none is finished."""
    ready = published(place, jobs)
    if not ready:
        return None
    # The digits of one number between 0 and 1, used up from the left.
    which, chance = divmod(chance * len(ready), 1)
    job = ready[int(which)]
    which, chance = divmod(chance * len(job.windows), 1)
    window = job.windows[int(which)]
    tile = keys.tile_key(job.job_id, window)
    standing = set(place.keys())
    if chance < 0.4 and tile in standing:
        place.spoil(tile)
        return job, f"spoilt {window}"
    if chance < 0.7 and tile in standing:
        place.delete(tile)
        return job, f"deleted {window}"
    if chance < 0.85:
        place.spoil(mosaic_of(place, job.job_id))
        return job, "spoilt the mosaic"
    row = next((row for row in place.rows() if _is_of(row, job, window)), None)
    if row is None:
        return None
    place.delete_row(row.partition, row.window)
    return job, f"deleted the row of {window}"


def _is_of(row: RowSeen, job: Wanted, window: str) -> bool:
    return row.partition.startswith(job.job_id) and row.window == window
