"""Publishing: gap check, mosaic, its row, preview, and item.json last."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from scenemosaic import keys
from scenemosaic.commit import Committed, commit_composed, commit_object, commit_row, retrying
from scenemosaic.manifests.port import Row
from scenemosaic.mosaic.assembly import Assembled, assembled, tiles_in_order
from scenemosaic.preview import preview_png
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.software import software_versions
from scenemosaic.stac import MosaicFacts, item_json
from scenemosaic.stores.port import Body, IfAbsent

Progress = Callable[[int, int], None]


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


def assemble(spec: JobSpec, run: Run, progress: Progress | None = None) -> MosaicResult:
    """Stitch the mosaic of a job whose windows all have rows, and publish it.

    ``progress(done, total)`` counts bytes. Raises IncompleteError naming the
    windows without a row; nothing is written then.
    """
    session = open_session(spec)
    rows = retrying(
        lambda: list(session.manifest.rows(session.partitions(spec))),
        session.policy,
        session.effects,
    )
    tiles = tiles_in_order(spec.plan, rows)
    with (
        assembled(tiles, spec.plan.recipe, _reader(session)) as mosaic,
        ThreadPoolExecutor(1) as beside,
    ):
        preview = beside.submit(_draw, spec, mosaic)  # while the store copies
        total = mosaic.stitched.size_bytes
        if progress is not None:
            progress(0, total)
        committed = _put_mosaic(session, spec, mosaic, run)
        if progress is not None:
            progress(total, total)
        png = preview.result()
    row = _row(session, spec, committed, run)
    commit_row(session.manifest, row, session.policy, session.effects)
    _put_small(session, spec, run, keys.preview_key(spec.plan.job_id), png, "image/png")
    _put_item(session, spec, committed, run)
    return result(session, spec, committed)


def _reader(session: Session) -> Callable[[str, int, int, str], bytes]:
    def get(key: str, offset: int, size_bytes: int, etag: str) -> bytes:
        return retrying(
            lambda: session.store.get(key, offset, size_bytes, etag),
            session.policy,
            session.effects,
        )

    return get


def _put_mosaic(session: Session, spec: JobSpec, mosaic: Assembled, run: Run) -> Committed:
    digest = mosaic.stitched.digest
    return commit_composed(
        session.store,
        keys.mosaic_key(spec.plan.job_id),
        mosaic.stitched.segments,
        IfAbsent(),
        keys.TIFF_CONTENT_TYPE,
        session.metadata(spec, run, keys.MOSAIC_ROW, digest=digest),
        session.policy,
        session.effects,
    )


def _row(session: Session, spec: JobSpec, committed: Committed, run: Run) -> Row:
    stored = committed.stored
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


def _draw(spec: JobSpec, mosaic: Assembled) -> bytes:
    pixels, mask = mosaic.preview
    return preview_png(pixels, mask, spec.plan.recipe.nodata, mosaic.template)


def _put_item(session: Session, spec: JobSpec, committed: Committed, run: Run) -> None:
    stored = committed.stored
    facts = MosaicFacts(stored.size_bytes, stored.metadata["digest"], None)
    item = item_json(spec.plan, facts)
    _put_small(session, spec, run, keys.item_key(spec.plan.job_id), item, "application/geo+json")


def _put_small(
    session: Session, spec: JobSpec, run: Run, key: str, data: bytes, content_type: str
) -> None:
    sha256 = hashlib.sha256(data).hexdigest()
    name = key.rpartition("/")[2]
    body = Body(data, sha256, content_type, session.metadata(spec, run, name, sha256=sha256))
    commit_object(session.store, key, body, IfAbsent(), session.policy, session.effects)


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
