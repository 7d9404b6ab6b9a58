"""Publishing: gap check, claim, the mosaic's revision, its row, preview, and item.json last.

``item.json`` is the one pointer. What it leads to is never written again: rows that changed
since make the next revision, and then the item is moved by If-Match.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from scenemosaic import keys
from scenemosaic.auditing.trail import trail
from scenemosaic.claiming import gate
from scenemosaic.claiming.claims import ClaimName
from scenemosaic.claiming.held import Held
from scenemosaic.committing import uploads
from scenemosaic.errors import Superseded
from scenemosaic.machine.memory import give_back
from scenemosaic.machine.parallel import beside
from scenemosaic.mosaic.assembly import assembled
from scenemosaic.mosaic.box_bytes import StandingBoxes
from scenemosaic.mosaic.progress import COPYING, MAKING, Progress, silent
from scenemosaic.mosaic.sample import check_sample
from scenemosaic.mosaic.stitch import StoredTile
from scenemosaic.publishing.aim import Aim, look_up, move_item
from scenemosaic.publishing.band_facts import HeaderFacts, header_facts
from scenemosaic.publishing.collection import ensure_collection
from scenemosaic.publishing.item import read_item
from scenemosaic.publishing.mosaic_facts import MosaicFacts, file_facts
from scenemosaic.publishing.mosaic_row import follow_item, insert_row
from scenemosaic.publishing.published import MosaicResult, published, result
from scenemosaic.publishing.revisions import Wanted, place_mosaic
from scenemosaic.publishing.small_writes import put_small
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.stores.port import (
    Announces,
    IfAbsent,
    Literal,
    ObjectInfo,
    Segment,
    Store,
)
from scenemosaic.top_boxes.standing import standing_boxes, with_boxes

__all__ = ["MosaicResult", "Progress", "assemble", "result"]

# A claim costs two or three writes of the manifest, 3 to 6 ms with SQLite. Below these it
# would cost more than the work that it saves; docs/adr/0009-claims.md has the figures.
CLAIM_FROM_BYTES = 512 << 20
CLAIM_FAR_FROM_BYTES = 64 << 20  # where the bytes pass through this machine
CLAIM_UPLOADS_FROM_BYTES = 5 << 20  # S3 takes nothing smaller as a part: no upload stays open
# From here on their rows need more memory than assembly's buffers.
MANY_WINDOWS: Final = 10_000
# Of a store that is far away; each holds a leaf of the tree in memory (mosaic/top.py).
_READERS_FAR: Final = 4
# Each turn is lost to somebody who moved the item meanwhile, and so made progress.
_TURNS: Final = 16


def assemble(
    spec: JobSpec, run: Run, progress: Progress | None = None, *, renew: bool = False
) -> MosaicResult:
    """Stitch the mosaic of a job whose windows all have rows, and publish it.

    Where one is published already, and all of it stands, nothing is written; where rows
    were repaired since, the next revision is made. ``renew`` makes one in any case: the
    mosaic that stands was found to be damaged. Of many at once, one does what is costly;
    the others wait, and their outcome is ``already-present``. ``progress(done, total, phase)``
    counts boxes of the smaller levels, then bytes. Raises IncompleteError naming the windows
    without a row; nothing is written then.
    """
    if len(spec.plan.recipe.tiling()) >= MANY_WINDOWS:
        give_back()
    with trail(open_session(spec), spec.plan.job_id, run) as found:
        mosaic = _assemble(found.session, spec, run, progress or silent, renew)
    return replace(mosaic, trace=found.trace)


def _assemble(
    session: Session, spec: JobSpec, run: Run, progress: Progress, renew: bool
) -> MosaicResult:
    aim = look_up(session, spec)
    if spec.reuse is not None:  # all tiles stand: what a dead run left of a copy comes to nothing
        uploads.end_below(session.store, keys.tiles_prefix(spec.plan.job_id))
    least = aim.revision + 1 if renew else 0
    for _ in range(_TURNS):
        found = _turn(session, spec, run, aim, least, progress)
        if found is not None:
            return found
        aim = look_up(session, spec)
    uri = session.store.object_uri(keys.item_key(spec.plan.job_id))
    raise Superseded(f"{uri} was moved by others {_TURNS} times meanwhile; run again")


def _turn(
    session: Session, spec: JobSpec, run: Run, aim: Aim, least: int, progress: Progress
) -> MosaicResult | None:
    """The published mosaic, or None where the item was moved under way."""
    looks = 0

    def look() -> MosaicResult | None:
        nonlocal looks
        looks += 1
        item = aim.item if looks == 1 else read_item(session, spec)
        if item is None or not aim.is_of(item) or item.revision < max(least, aim.revision):
            return None
        if not aim.is_sound and aim.item is not None and aim.item.data == item.data:
            return None  # it is written again
        return published(session, spec, run, item)

    def work(held: Held | None) -> MosaicResult | None:
        # Whoever waited for the claim starts from what stands now.
        now = aim if looks == 1 else look_up(session, spec)
        publish = partial(_publish, session, spec, run, now, held, least, progress)
        return with_boxes(publish, standing_boxes(session, spec, now.tiles))

    if not _is_costly(session.store, aim.tiles):
        return look() or work(None)
    return gate.once(session.claims(), _claim_name(session, spec), run.run_id, look, work)


def _is_costly(store: Store, tiles: Sequence[StoredTile]) -> bool:
    least = CLAIM_FAR_FROM_BYTES if store.capabilities.is_far else CLAIM_FROM_BYTES
    if isinstance(store, Announces):
        least = CLAIM_UPLOADS_FROM_BYTES
    return sum(tile.row.bytes for tile in tiles) >= least


def _claim_name(session: Session, spec: JobSpec) -> ClaimName:
    job_id = spec.plan.job_id
    partition = keys.claim_partition(job_id, session.store.uri)
    uri = session.store.object_uri(keys.mosaic_key(job_id))
    return ClaimName(partition, keys.ASSEMBLY_CLAIM, uri)


def _publish(
    session: Session,
    spec: JobSpec,
    run: Run,
    aim: Aim,
    held: Held | None,
    least: int,
    progress: Progress,
    boxes: StandingBoxes,
) -> MosaicResult | None:
    source = aim.tiles, spec.plan.recipe, session.get
    copying = session.store.capabilities.copying

    def told(done: int, total: int) -> None:
        progress(done, total, MAKING)

    with assembled(*source, boxes, copying, _readers(session), told) as mosaic:
        total = mosaic.stitched.size_bytes
        progress(0, total, COPYING)
        wanted = Wanted(
            mosaic.stitched,
            aim.rows_sha256,
            first=max(least, aim.revision),
            past_foreign=least > 0,
            is_first=aim.item is None,
        )
        committed, revision = place_mosaic(session, spec, run, wanted, held)
        progress(total, total, COPYING)
        preview_key = keys.preview_key(spec.plan.job_id, revision)
        # Neither leads to the mosaic: the item does, which comes after both.
        with beside(partial(_check_stored, session, spec, committed.stored)):
            png = mosaic.preview()
            header = _header(mosaic.stitched.segments[0])
            preview = put_small(session, spec, run, preview_key, png, "image/png", IfAbsent())
    key = committed.stored.key
    if (held is not None and not held.fresh) or committed.counters["ambiguous"]:
        uploads.end_others(session.store, key)
    # Of a job with an item the row follows that: it never tells of a revision to come.
    described = aim.item is None and insert_row(session, spec, run, committed.stored)
    if spec.plan.collection is not None:
        ensure_collection(session, run, spec.plan.collection)
    facts = MosaicFacts(
        file=file_facts(committed.stored),
        digest=committed.stored.metadata["digest"],
        preview=file_facts(preview.stored),
        header=header,
        rows_sha256=aim.rows_sha256,
        revision=revision,
        waived=aim.waived,
    )
    if not move_item(session, spec, run, aim, facts):
        return None
    if not described:
        follow_item(session, spec, run, committed.stored, revision)
    return result(session, spec, committed, revision)


def _check_stored(session: Session, spec: JobSpec, stored: ObjectInfo) -> None:
    """Also one that another run left behind: nothing leads to it before it was looked at."""
    check_sample(
        lambda offset, size_bytes: session.get(stored.key, offset, size_bytes, stored.etag),
        stored.size_bytes,
        spec.plan.recipe,
        session.store.object_uri(stored.key),
        _readers(session),
    )


def _readers(session: Session) -> int:
    return _READERS_FAR if session.store.capabilities.is_far else 1


def _header(first: Segment) -> HeaderFacts:
    return header_facts(first.data) if isinstance(first, Literal) else HeaderFacts()
