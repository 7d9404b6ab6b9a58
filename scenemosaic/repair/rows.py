"""The row of a window that is being repaired: it has to describe the object as it stands."""

from dataclasses import replace
from typing import Final

from scenemosaic.committing.commit import commit_row
from scenemosaic.committing.row_swap import swap_row
from scenemosaic.machine.software import LOSSY_CODEC
from scenemosaic.manifests.packing import fitted
from scenemosaic.manifests.port import Inserted, Row, Updated
from scenemosaic.publishing.published import head
from scenemosaic.repair.outcome import same_version
from scenemosaic.session import Session
from scenemosaic.stores.port import ObjectInfo

_TURNS: Final = 16


def says_the_same(row: Row | None, wanted: Row, *, lossy: bool = False) -> bool:
    """Whether the row says of its object what ``wanted`` does, whoever wrote it and when.

    Of a ``lossy`` tile the codec's version is part of that: assembly goes by it.
    """
    if row is None or _facts(row) != _facts(fitted(wanted)):
        return False
    return not lossy or row.software.get(LOSSY_CODEC) == wanted.software.get(LOSSY_CODEC)


def _facts(row: Row) -> Row:
    return replace(row, revision=0, written_by="", written_at="", software={})


def settle_row(session: Session, wanted: Row, standing: Row | None, stored: ObjectInfo) -> bool:
    """Let the row be ``wanted``, which describes ``stored``. False where that stands no more.

    ``standing`` is the row as it was read. Of writers whose objects followed one another,
    the last one's row is the last: whoever is refused looks at the object again, and goes
    on only where it is still its own.
    """
    for _ in range(_TURNS):
        standing, done = _try(session, wanted, standing)
        if done or says_the_same(standing, wanted):
            return True
        now = head(session, stored.key)
        if now is None or not same_version(now, stored):
            return False
    return False


def _try(session: Session, wanted: Row, standing: Row | None) -> tuple[Row | None, bool]:
    """What stands in the way, if anything; and whether the row is ours now."""
    if standing is None:
        inserted = commit_row(session.manifest, wanted, session.policy, session.effects)
        return (None, True) if isinstance(inserted, Inserted) else (inserted.row, False)
    answer = swap_row(session.manifest, wanted, standing.revision, session.policy, session.effects)
    return (None, True) if isinstance(answer, Updated) else (answer.row, False)
