"""Publishing: gap check, claim, the mosaic's revision, its row, preview, and item.json last.

``item.json`` is the one pointer. What it leads to is never written again: rows that changed
since make the next revision, and then the item is moved by If-Match.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from scenemosaic import keys
from scenemosaic.auditing.trail import trail
from scenemosaic.claiming import gate
from scenemosaic.claiming.claims import ClaimName
from scenemosaic.claiming.held import Held
from scenemosaic.committing import uploads
from scenemosaic.committing.commit import Committed
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
from scenemosaic.publishing.item import Item, read_item
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
        assembly = _Assembly(found.session, spec, run, progress or silent)
        mosaic = assembly.published(renew=renew)
    return replace(mosaic, trace=found.trace)


@dataclass(frozen=True, slots=True)
class _Assembly:
    """One call of :func:`assemble`: what it works on, and whom it tells."""

    session: Session
    spec: JobSpec
    run: Run
    progress: Progress

    def published(self, *, renew: bool) -> MosaicResult:
        """The mosaic, published by this call or by another one meanwhile."""
        aim = look_up(self.session, self.spec)
        job_id = self.spec.plan.job_id
        if self.spec.reuse is not None:  # all tiles stand: what is left of a copy is of no use
            uploads.end_below(self.session.store, keys.tiles_prefix(job_id))
        least = aim.revision + 1 if renew else 0
        for _ in range(_TURNS):
            found = self._turn(aim, least)
            if found is not None:
                return found
            aim = look_up(self.session, self.spec)
        uri = self.session.store.object_uri(keys.item_key(job_id))
        raise Superseded(f"{uri} was moved by others {_TURNS} times meanwhile; run again")

    def _turn(self, aim: Aim, least: int) -> MosaicResult | None:
        """The published mosaic, or None where the item was moved under way."""
        looks = 0

        def look() -> MosaicResult | None:
            nonlocal looks
            looks += 1
            item = aim.item if looks == 1 else read_item(self.session, self.spec)
            return self._standing(aim, item, least)

        def work(held: Held | None) -> MosaicResult | None:
            # Whoever waited for the claim starts from what stands now.
            now = aim if looks == 1 else look_up(self.session, self.spec)
            publish = partial(self._publish, now, held, least)
            return with_boxes(publish, standing_boxes(self.session, self.spec, now.tiles))

        if not _is_costly(self.session.store, aim.tiles):
            return look() or work(None)
        name = claim_name(self.session, self.spec)
        return gate.once(self.session.claims(), name, self.run.run_id, look, work)

    def _standing(self, aim: Aim, item: Item | None, least: int) -> MosaicResult | None:
        """What ``item`` leads to, where it is of these rows and all of it stands."""
        if item is None or not aim.is_of(item) or item.revision < max(least, aim.revision):
            return None
        if not aim.is_sound and aim.item is not None and aim.item.data == item.data:
            return None  # it is written again
        return published(self.session, self.spec, self.run, item)

    def _publish(
        self, aim: Aim, held: Held | None, least: int, boxes: StandingBoxes
    ) -> MosaicResult | None:
        """A new revision, and the item that leads to it; None where that was moved meanwhile."""
        session, spec, run = self.session, self.spec, self.run
        committed, facts = self._placed(aim, held, least, boxes)
        stored = committed.stored
        if (held is not None and not held.fresh) or committed.counters["ambiguous"]:
            uploads.end_others(session.store, stored.key)
        # Of a job with an item the row follows that: it never tells of a revision to come.
        described = aim.item is None and insert_row(session, spec, run, stored)
        if spec.plan.collection is not None:
            ensure_collection(session, run, spec.plan.collection)
        if not move_item(session, spec, run, aim, facts):
            return None
        if not described:
            follow_item(session, spec, run, stored, facts.revision)
        return result(session, spec, committed, facts.revision)

    def _placed(
        self, aim: Aim, held: Held | None, least: int, boxes: StandingBoxes
    ) -> tuple[Committed, MosaicFacts]:
        """The mosaic and its preview, stored and looked at: nothing leads to them yet."""
        session, spec, run = self.session, self.spec, self.run
        copying, readers = session.store.capabilities.copying, _readers(session)
        source = aim.tiles, spec.plan.recipe, session.get
        with assembled(*source, boxes, copying, readers, self._told) as mosaic:
            wanted = Wanted(
                mosaic.stitched,
                aim.rows_sha256,
                first=max(least, aim.revision),
                past_foreign=least > 0,
                is_first=aim.item is None,
            )
            self.progress(0, mosaic.stitched.size_bytes, COPYING)
            committed, revision = place_mosaic(session, spec, run, wanted, held)
            self.progress(mosaic.stitched.size_bytes, mosaic.stitched.size_bytes, COPYING)
            key = keys.preview_key(spec.plan.job_id, revision)
            # Neither leads to the mosaic: the item does, which comes after both.
            with beside(partial(_check_stored, session, spec, committed.stored)):
                png = mosaic.preview()
                header = _header(mosaic.stitched.segments[0])
                preview = put_small(session, spec, run, key, png, "image/png", IfAbsent())
        facts = MosaicFacts(
            file=file_facts(committed.stored),
            digest=committed.stored.metadata["digest"],
            preview=file_facts(preview.stored),
            header=header,
            rows_sha256=aim.rows_sha256,
            revision=revision,
            waived=aim.waived,
        )
        return committed, facts

    def _told(self, done: int, total: int) -> None:
        self.progress(done, total, MAKING)


def claim_name(session: Session, spec: JobSpec) -> ClaimName:
    """The claim of whoever assembles the job at its root."""
    job_id, store = spec.plan.job_id, session.store
    partition = keys.claim_partition(job_id, store.uri)
    return ClaimName(partition, keys.ASSEMBLY_CLAIM, store.object_uri(keys.mosaic_key(job_id)))


def _is_costly(store: Store, tiles: Sequence[StoredTile]) -> bool:
    least = CLAIM_FAR_FROM_BYTES if store.capabilities.is_far else CLAIM_FROM_BYTES
    if isinstance(store, Announces):
        least = CLAIM_UPLOADS_FROM_BYTES
    return sum(tile.row.bytes for tile in tiles) >= least


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
