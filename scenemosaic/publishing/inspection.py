"""The mosaic of a finished job as it stands, pinned: what there is to publish."""

from scenemosaic import keys
from scenemosaic.errors import ForeignObject, IncompleteError, NotApproved
from scenemosaic.ledger.state import Published
from scenemosaic.manifests.port import Row
from scenemosaic.next_step import command
from scenemosaic.publishing.finished import finished
from scenemosaic.publishing.item import Item, read_item
from scenemosaic.publishing.latest import Target
from scenemosaic.publishing.published import MosaicResult, mosaic_row
from scenemosaic.session import JobSpec, open_session


def inspect(spec: JobSpec, approved: Target | None = None) -> Target:
    """The job's current mosaic, pinned, which has to be ``approved`` where that is given.

    Changes nothing. Raises IncompleteError where the job is not finished, ForeignObject where
    its item, its row and its mosaic do not describe one and the same object, NotApproved.
    """
    session, job_id = open_session(spec), spec.plan.job_id
    mosaic, item = finished(spec), read_item(session, spec)
    if mosaic is None or item is None:
        raise IncompleteError(
            f"job {job_id} is not finished, and only what is finished is published: see "
            f"{command('status', job_id, spec.place)}"
        )
    if not _agree(mosaic, item, mosaic_row(session, spec)):
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


def _agree(mosaic: MosaicResult, item: Item, row: Row | None) -> bool:
    if row is None or (item.revision, item.mosaic[1]) != (mosaic.revision, mosaic.digest):
        return False
    stands = (mosaic.uri, mosaic.bytes, mosaic.etag, mosaic.version_id)
    return stands == (row.output_uri, row.bytes, row.etag, row.version_id)


def _pinned(spec: JobSpec, mosaic: MosaicResult) -> Target:
    job_id = spec.plan.job_id
    key = keys.mosaic_key(job_id, mosaic.revision)
    pinned = Published(mosaic.revision, mosaic.digest, mosaic.etag, mosaic.version_id)
    href = f"./{key.removeprefix('mosaics/')}"
    return Target(job_id, href, mosaic.bytes, pinned, spec.plan.title)
