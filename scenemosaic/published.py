"""What is said of a published mosaic, and how to tell that one is published."""

from dataclasses import dataclass

from scenemosaic import keys
from scenemosaic.commit import Committed, Outcome, is_ours, retrying
from scenemosaic.errors import ForeignObject
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stores.port import ObjectInfo


@dataclass(frozen=True, slots=True)
class MosaicResult:
    """A published mosaic: where it lies, how it came there, and what proves it."""

    uri: str
    outcome: str
    etag: str
    version_id: str | None
    bytes: int
    digest: str
    sha256: str | None
    item: str
    preview: str


def published(session: Session, spec: JobSpec, run: Run) -> MosaicResult | None:
    """The job's mosaic where all of it is there, its item last; None where anything is missing."""
    job_id = spec.plan.job_id
    if head(session, keys.item_key(job_id)) is None:
        return None
    committed = standing(session, spec, run)
    partition = session.partition(spec)
    row = retrying(
        lambda: session.manifest.get(partition, keys.MOSAIC_ROW), session.policy, session.effects
    )
    if committed is None or row is None:
        return None
    return result(session, spec, committed)


def standing(session: Session, spec: JobSpec, run: Run) -> Committed | None:
    """The mosaic's object where it stands: written, where this very run did it.

    Raises ForeignObject where something of others stands at its key.
    """
    stored = head(session, keys.mosaic_key(spec.plan.job_id))
    if stored is None:
        return None
    wanted = session.metadata(spec, run, keys.MOSAIC_ROW)
    if not is_ours(stored, wanted) or "digest" not in stored.metadata:
        raise ForeignObject(
            f"{session.store.object_uri(stored.key)} holds an object that this pipeline did not "
            f"write (ETag {stored.etag}); move it away, or choose another root"
        )
    own = stored.metadata["write_id"] == wanted["write_id"]
    return Committed(Outcome.WRITTEN if own else Outcome.ALREADY_PRESENT, stored)


def head(session: Session, key: str) -> ObjectInfo | None:
    """What stands at a key, asked again where the store was busy."""
    return retrying(lambda: session.store.head(key), session.policy, session.effects)


def result(session: Session, spec: JobSpec, committed: Committed) -> MosaicResult:
    """What is said of a published mosaic."""
    stored, job_id = committed.stored, spec.plan.job_id
    return MosaicResult(
        uri=session.store.object_uri(stored.key),
        outcome=committed.outcome.value,
        etag=stored.etag,
        version_id=stored.version_id,
        bytes=stored.size_bytes,
        digest=stored.metadata["digest"],
        sha256=stored.metadata.get("sha256"),
        item=session.store.object_uri(keys.item_key(job_id)),
        preview=session.store.object_uri(keys.preview_key(job_id)),
    )
