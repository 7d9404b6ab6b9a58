"""Objects of a job's folders that no row and no window of the plan explains."""

from collections.abc import Iterator

from scenemosaic import keys
from scenemosaic.grids.grid import Tiling
from scenemosaic.job_rows import window_number
from scenemosaic.session import JobSpec, Session
from scenemosaic.verification.findings import Finding, Kind


def strays(session: Session, spec: JobSpec, revision: int) -> Iterator[Finding]:
    """A finding for each object that has no business there; ``revision`` is the item's.

    A window's tile without a row is no stray: it is found with its window.
    """
    job_id, tiling = spec.plan.job_id, spec.plan.recipe.tiling()
    for info in session.store.list(keys.folder_of(keys.tile_key(job_id, ""))):
        if not _is_tile(job_id, tiling, info.key):
            yield Finding(info.key, Kind.STRAY, f"{info.size_bytes} bytes of no window")
    yield from stray_files(session, job_id, revision)


def stray_files(session: Session, job_id: str, revision: int) -> Iterator[Finding]:
    """The same of the mosaics' folder alone."""
    published = set(_published(job_id, revision))
    for info in session.store.list(keys.folder_of(keys.item_key(job_id))):
        if info.key not in published:
            text = f"{info.size_bytes} bytes that item.json (revision {revision}) does not lead to"
            yield Finding(info.key, Kind.STRAY, text)


def _is_tile(job_id: str, tiling: Tiling, key: str) -> bool:
    name = key.rpartition("/")[2].removesuffix(".tif")
    return window_number(tiling, name) is not None and key == keys.tile_key(job_id, name)


def _published(job_id: str, revision: int) -> Iterator[str]:
    yield keys.item_key(job_id)
    for number in range(revision + 1):
        yield keys.mosaic_key(job_id, number)
        yield keys.preview_key(job_id, number)
