"""The mosaic's own row: inserted with the first mosaic, and following the item from then on."""

from typing import Final

from scenemosaic import keys
from scenemosaic.committing.commit import commit_row
from scenemosaic.committing.row_swap import swap_row
from scenemosaic.errors import Superseded
from scenemosaic.machine.software import software_versions
from scenemosaic.manifests.port import Inserted, Row, Updated
from scenemosaic.publishing.item import read_item
from scenemosaic.publishing.published import describes, mosaic_row
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stores.port import ObjectInfo

_TURNS: Final = 16


def insert_row(session: Session, spec: JobSpec, run: Run, stored: ObjectInfo) -> bool:
    """Insert the row where there is none; whether the row that stands is about this mosaic."""
    row = _row(session, spec, run, stored)
    answer = commit_row(session.manifest, row, session.policy, session.effects)
    return isinstance(answer, Inserted) or describes(session, answer.row, stored)


def follow_item(
    session: Session, spec: JobSpec, run: Run, stored: ObjectInfo, revision: int
) -> None:
    """Let the row describe the mosaic to which the item was moved.

    The row is read before the item. So where the item is moved on meanwhile, its mover's
    row comes after this one, or this one is refused.
    """
    for _ in range(_TURNS):
        found = mosaic_row(session, spec)
        item = read_item(session, spec)
        if item is None or item.revision != revision:
            return  # whoever moved it on sees to the row
        if found is None:
            if insert_row(session, spec, run, stored):
                return
        elif describes(session, found, stored) or _swap(session, spec, run, stored, found.revision):
            return
    raise Superseded(f"the row of job {spec.plan.job_id}'s mosaic keeps being replaced; run again")


def _swap(session: Session, spec: JobSpec, run: Run, stored: ObjectInfo, revision: int) -> bool:
    row = _row(session, spec, run, stored)
    answer = swap_row(session.manifest, row, revision, session.policy, session.effects)
    return isinstance(answer, Updated)


def _row(session: Session, spec: JobSpec, run: Run, stored: ObjectInfo) -> Row:
    return Row(
        partition=session.partition(spec),
        window=keys.MOSAIC_ROW,
        output_uri=session.store.object_uri(stored.key),
        bytes=stored.size_bytes,
        sha256=None,
        etag=stored.etag,
        version_id=stored.version_id,
        blocks=None,
        crc=(),
        revision=1,
        written_by=run.written_by,
        written_at=session.now(),
        software=software_versions(),
    )
