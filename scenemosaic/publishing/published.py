"""What is said of a published mosaic, and how to tell that one is published."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from scenemosaic import keys
from scenemosaic.auditing.trail import Trace
from scenemosaic.committing.commit import Committed, Outcome, is_ours, retrying
from scenemosaic.errors import ForeignObject
from scenemosaic.manifests.port import Row
from scenemosaic.next_step import command
from scenemosaic.publishing.item import Item
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stores.port import ObjectInfo

_MOSAIC_PATH: Final = re.compile(rf"(?:r([1-9]\d{{0,8}})/)?{re.escape(keys.MOSAIC_FILE)}")


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
    revision: int = 0
    trace: Trace = field(default_factory=Trace, repr=False, compare=False)


def published(session: Session, spec: JobSpec, run: Run, item: Item) -> MosaicResult | None:
    """The mosaic that the item leads to, where its row describes it and its preview is there."""
    committed = standing(session, spec, run, item.revision)
    if committed is None:
        return None
    row = mosaic_row(session, spec)
    if row is None or not describes(session, row, committed.stored):
        return None
    if head(session, keys.preview_key(spec.plan.job_id, item.revision)) is None:
        return None
    return result(session, spec, committed, item.revision)


def standing(session: Session, spec: JobSpec, run: Run, revision: int) -> Committed | None:
    """A revision's mosaic where it stands: written, where this very run did it.

    Raises ForeignObject where something of others stands at its key.
    """
    stored = head(session, keys.mosaic_key(spec.plan.job_id, revision))
    if stored is None:
        return None
    wanted = session.metadata(spec, run, mosaic_name(revision))
    if not is_mosaic(stored, wanted):
        raise ForeignObject(
            f"{session.store.object_uri(stored.key)} holds an object that this pipeline did not "
            f"write (ETag {stored.etag}); move it away, or have the next revision made beside it: "
            f"{command('repair', spec.plan.job_id, spec.place)}"
        )
    own = stored.metadata["write_id"] == wanted["write_id"]
    return Committed(Outcome.WRITTEN if own else Outcome.ALREADY_PRESENT, stored)


def is_mosaic(stored: ObjectInfo, wanted: Mapping[str, str]) -> bool:
    """Whether this pipeline composed the object, for the job that ``wanted`` says."""
    return is_ours(stored, wanted) and "digest" in stored.metadata


def mosaic_name(revision: int) -> str:
    """What a write-id calls a revision's mosaic."""
    return keys.revision_path(revision, keys.MOSAIC_ROW)


def mosaic_row(session: Session, spec: JobSpec) -> Row | None:
    """The mosaic's row as it stands."""
    partition = session.partition(spec)
    return retrying(
        lambda: session.manifest.get(partition, keys.MOSAIC_ROW), session.policy, session.effects
    )


def revision_of(session: Session, job_id: str, uri: str) -> int | None:
    """The revision whose mosaic lies at ``uri``, as a row says it; None where that is none."""
    key, mark = keys.item_key(job_id), "item.json"
    folder = session.store.object_uri(key).removesuffix(mark)
    found = _MOSAIC_PATH.fullmatch(uri.removeprefix(folder)) if uri.startswith(folder) else None
    return None if found is None else int(found[1] or 0)


def describes(session: Session, row: Row, stored: ObjectInfo) -> bool:
    """Whether a row is about this very version of the object."""
    said = (row.output_uri, row.bytes, row.etag, row.version_id)
    uri = session.store.object_uri(stored.key)
    return said == (uri, stored.size_bytes, stored.etag, stored.version_id)


def head(session: Session, key: str) -> ObjectInfo | None:
    """What stands at a key, asked again where the store was busy."""
    return retrying(lambda: session.store.head(key), session.policy, session.effects)


def result(session: Session, spec: JobSpec, committed: Committed, revision: int) -> MosaicResult:
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
        preview=session.store.object_uri(keys.preview_key(job_id, revision)),
        revision=revision,
    )
