"""Publishing: gap check, claim, mosaic, its row, preview, and item.json last."""

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from scenemosaic import gate, keys, uploads
from scenemosaic.claims import ClaimName
from scenemosaic.commit import Committed, commit_composed, commit_object, commit_row, retrying
from scenemosaic.held import Held
from scenemosaic.manifests.port import Row
from scenemosaic.mosaic.assembly import Assembled, assembled, tiles_in_order
from scenemosaic.mosaic.stitch import StoredTile
from scenemosaic.preview import preview_png
from scenemosaic.published import MosaicResult, published, result, standing
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.software import software_versions
from scenemosaic.stac import MosaicFacts, item_json
from scenemosaic.stores.port import Announces, Body, IfAbsent, Store

__all__ = ["MosaicResult", "Progress", "assemble", "result"]

Progress = Callable[[int, int], None]

# A claim costs two or three writes of the manifest, about 3 ms with SQLite. Below these it
# would cost more than the work that it saves; docs/adr/0009-claims.md has the figures.
CLAIM_FROM_BYTES = 64 << 20
CLAIM_UPLOADS_FROM_BYTES = 5 << 20  # S3 takes nothing smaller as a part: no upload stays open


def assemble(spec: JobSpec, run: Run, progress: Progress | None = None) -> MosaicResult:
    """Stitch the mosaic of a job whose windows all have rows, and publish it.

    Of many at once, one does what is costly; the others wait, and their outcome is
    ``already-present``. ``progress(done, total)`` counts bytes. Raises
    IncompleteError naming the windows without a row; nothing is written then.
    """
    session = open_session(spec)
    rows = retrying(
        lambda: list(session.manifest.rows(session.partitions(spec))),
        session.policy,
        session.effects,
    )
    tiles = tiles_in_order(spec.plan, rows)

    def look() -> MosaicResult | None:
        return published(session, spec, run)

    def work(held: Held | None) -> MosaicResult:
        return _publish(session, spec, run, tiles, held, progress or _silent)

    if not _is_costly(session.store, tiles):
        return look() or work(None)
    return gate.once(session.claims(), _claim_name(session, spec), run.run_id, look, work)


def _is_costly(store: Store, tiles: Sequence[StoredTile]) -> bool:
    least = CLAIM_UPLOADS_FROM_BYTES if isinstance(store, Announces) else CLAIM_FROM_BYTES
    return sum(tile.row.bytes for tile in tiles) >= least


def _claim_name(session: Session, spec: JobSpec) -> ClaimName:
    job_id = spec.plan.job_id
    partition = keys.claim_partition(job_id, session.store.uri)
    uri = session.store.object_uri(keys.mosaic_key(job_id))
    return ClaimName(partition, keys.ASSEMBLY_CLAIM, uri)


def _silent(done_bytes: int, total_bytes: int) -> None:
    pass


def _publish(
    session: Session,
    spec: JobSpec,
    run: Run,
    tiles: Sequence[StoredTile],
    held: Held | None,
    progress: Progress,
) -> MosaicResult:
    key = keys.mosaic_key(spec.plan.job_id)
    if held is not None and held.inherited is not None:
        uploads.end_one(session.store, key, held.inherited)
    with (
        assembled(tiles, spec.plan.recipe, _reader(session)) as mosaic,
        ThreadPoolExecutor(1) as beside,
    ):
        preview = beside.submit(_draw, spec, mosaic)  # while the store copies
        total = mosaic.stitched.size_bytes
        progress(0, total)
        committed = standing(session, spec, run) or _put_mosaic(session, spec, mosaic, run, held)
        progress(total, total)
        png = preview.result()
    if (held is not None and not held.fresh) or committed.counters["ambiguous"]:
        uploads.end_others(session.store, key)
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


def _put_mosaic(
    session: Session, spec: JobSpec, mosaic: Assembled, run: Run, held: Held | None
) -> Committed:
    digest = mosaic.stitched.digest
    return commit_composed(
        _announcing(session.store, held),
        keys.mosaic_key(spec.plan.job_id),
        mosaic.stitched.segments,
        IfAbsent(),
        keys.TIFF_CONTENT_TYPE,
        session.metadata(spec, run, keys.MOSAIC_ROW, digest=digest),
        session.policy,
        session.effects,
    )


def _announcing(store: Store, held: Held | None) -> Store:
    """The store, keeping each upload's ID in the claim before its first part."""
    if held is None or not isinstance(store, Announces):
        return store
    return store.announcing(held.record)


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
