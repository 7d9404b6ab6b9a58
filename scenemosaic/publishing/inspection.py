"""The mosaic of a finished job as it stands, pinned: what there is to publish."""

from scenemosaic import keys
from scenemosaic.errors import ForeignObject, IncompleteError, NotApproved
from scenemosaic.ledger.state import Published
from scenemosaic.next_step import command
from scenemosaic.publishing.finished import examine
from scenemosaic.publishing.latest import Target
from scenemosaic.publishing.published import MosaicResult
from scenemosaic.session import JobSpec


def inspect(spec: JobSpec, approved: Target | None = None) -> Target:
    """The job's current mosaic, pinned, which has to be ``approved`` where that is given.

    Changes nothing. Raises IncompleteError where the job is not finished, ForeignObject where
    its item, its row and its mosaic do not describe one and the same object, NotApproved.
    """
    job_id, found = spec.plan.job_id, examine(spec)
    mosaic = found.mosaic
    if mosaic is None or found.row is None or found.missing:
        raise IncompleteError(
            f"job {job_id} is not finished, and only what is finished is published: see "
            f"{command('status', job_id, spec.place)}"
        )
    if not found.is_described:
        raise ForeignObject(
            f"{mosaic.uri} (ETag {mosaic.etag}, digest {mosaic.digest}) is not the mosaic that "
            f"{mosaic.item} and its row describe: see "
            f"{command('verify', job_id, spec.place)}"
        )
    target = _pinned(spec, mosaic)
    if approved is not None and target != approved:
        raise NotApproved(
            f"job {job_id} is at revision {target.pinned.revision} (digest "
            f"{target.pinned.digest}) and no longer what was approved, revision "
            f"{approved.pinned.revision} (digest {approved.pinned.digest}): ask again"
        )
    return target


def _pinned(spec: JobSpec, mosaic: MosaicResult) -> Target:
    job_id = spec.plan.job_id
    key = keys.mosaic_key(job_id, mosaic.revision)
    pinned = Published(mosaic.revision, mosaic.digest, mosaic.etag, mosaic.version_id)
    href = f"./{key.removeprefix('mosaics/')}"
    return Target(job_id, href, mosaic.bytes, pinned, spec.plan.title)
