"""A mosaic's place: the first revision that holds it already, or holds nothing yet."""

from dataclasses import dataclass

from scenemosaic import keys
from scenemosaic.claiming.held import Held
from scenemosaic.committing import uploads
from scenemosaic.committing.commit import Committed, commit_composed
from scenemosaic.errors import ForeignObject
from scenemosaic.mosaic.stitch import Stitched
from scenemosaic.publishing.published import mosaic_name, standing
from scenemosaic.publishing.staging import in_few_pieces
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stores.port import Announces, IfAbsent, ObjectInfo, Store


@dataclass(frozen=True, slots=True)
class Wanted:
    """A mosaic to be placed, and the digest of the rows that it is made of.

    ``first`` is the first revision that may be taken. With ``past_foreign`` one that holds
    what is not ours is passed over, not a conflict. ``is_first``: nothing is published yet.
    """

    stitched: Stitched
    rows_sha256: str
    first: int = 0
    past_foreign: bool = False
    is_first: bool = False

    def is_in(self, stored: ObjectInfo) -> bool:
        """Whether the object was made of the same rows; those of old do not say of which."""
        rows_sha256 = stored.metadata.get("rows_sha256")
        if rows_sha256 is None:
            return self.is_first or stored.metadata.get("digest") == self.stitched.digest
        return rows_sha256 == self.rows_sha256


def place_mosaic(
    session: Session, spec: JobSpec, run: Run, wanted: Wanted, held: Held | None
) -> tuple[Committed, int]:
    """The mosaic as it stands, and its revision. What stands at a revision stays as it is.

    Raises ForeignObject where something of others stands at a revision that is ours to take.
    """
    revision = wanted.first
    while True:
        if (found := _try(session, spec, run, wanted, held, revision)) is not None:
            return found, revision
        revision += 1


def _try(
    session: Session, spec: JobSpec, run: Run, wanted: Wanted, held: Held | None, revision: int
) -> Committed | None:
    """The mosaic at this revision, or None where another one stands there."""
    key = keys.mosaic_key(spec.plan.job_id, revision)
    try:
        found = standing(session, spec, run, revision)
        if found is None:
            if held is not None and held.inherited is not None:
                uploads.end_one(session.store, key, held.inherited)
            found = _put(session, spec, run, wanted, held, revision)
    except ForeignObject:
        if not wanted.past_foreign:
            raise
        return None
    # Also one that this very run wrote may be of rows that were repaired since.
    return found if wanted.is_in(found.stored) else None


def _put(
    session: Session, spec: JobSpec, run: Run, wanted: Wanted, held: Held | None, revision: int
) -> Committed:
    metadata = session.metadata(
        spec,
        run,
        mosaic_name(revision),
        digest=wanted.stitched.digest,
        rows_sha256=wanted.rows_sha256,
    )
    store = _announcing(session.store, held)

    def made(stage: Committed) -> None:
        if (held is not None and not held.fresh) or stage.counters["ambiguous"]:
            uploads.end_others(session.store, stage.stored.key)

    pieces = in_few_pieces(session, spec, run, store, wanted.stitched.segments, made)
    return commit_composed(
        store,
        keys.mosaic_key(spec.plan.job_id, revision),
        pieces,
        IfAbsent(),
        keys.TIFF_CONTENT_TYPE,
        metadata,
        session.policy,
        session.effects,
    )


def _announcing(store: Store, held: Held | None) -> Store:
    """The store, keeping each upload's ID in the claim before its first part."""
    if held is None or not isinstance(store, Announces):
        return store
    return store.announcing(held.record)
