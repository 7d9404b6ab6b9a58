"""What a mosaic is to be published over, and how its item comes to lead to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from scenemosaic import keys
from scenemosaic.committing.commit import Outcome, retrying
from scenemosaic.manifests.port import Row
from scenemosaic.mosaic.assembly import tiles_in_order
from scenemosaic.mosaic.stitch import StoredTile
from scenemosaic.publishing.item import Item, read_item, read_item_to_move
from scenemosaic.publishing.mosaic_facts import MosaicFacts
from scenemosaic.publishing.published import revision_of
from scenemosaic.publishing.rows_digest import rows_digest
from scenemosaic.publishing.small_writes import put_small
from scenemosaic.publishing.stac import item_json
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stores.port import IfAbsent, IfMatch


@dataclass(frozen=True, slots=True)
class Aim:
    """What is to be published over what.

    The item was read before the rows: who changes a row after that will move the item after
    that, too. ``revision`` is the newest of which the item or the mosaic's row tells;
    ``is_sound``: the item's bytes are those that were written.
    """

    item: Item | None
    item_etag: str | None
    tiles: Sequence[StoredTile]
    rows_sha256: str
    revision: int = 0
    is_sound: bool = True

    @property
    def waived(self) -> dict[str, str]:
        return {tile.window.name: tile.row.waiver for tile in self.tiles if tile.row.waiver}

    def is_of(self, item: Item | None) -> bool:
        """Whether the item was built from these very rows."""
        return item is not None and item.rows_sha256 == self.rows_sha256


def look_up(session: Session, spec: JobSpec) -> Aim:
    """The item and the rows as they stand now; IncompleteError names windows without a row."""
    item, etag, is_sound = read_item_to_move(session, spec)
    rows = retrying(
        lambda: list(session.manifest.rows(session.partitions(spec))),
        session.policy,
        session.effects,
    )
    digest = rows_digest(rows)  # before the tiles are there, as it holds much of all rows
    revision = max(item.revision if item else 0, _told(session, spec, rows))
    return Aim(item, etag, tiles_in_order(spec.plan, rows), digest, revision, is_sound)


def _told(session: Session, spec: JobSpec, rows: Sequence[Row]) -> int:
    """The revision of which the mosaic's row tells."""
    uri = next((row.output_uri for row in rows if row.window == keys.MOSAIC_ROW), "")
    return revision_of(session, spec.plan.job_id, uri) or 0


def move_item(session: Session, spec: JobSpec, run: Run, aim: Aim, facts: MosaicFacts) -> bool:
    """Let the item lead to this mosaic; False where it was moved elsewhere meanwhile."""
    revision = facts.revision
    data = item_json(spec.plan, facts)
    stands = aim.item if aim.is_sound else None
    if stands is not None and (stands.data == data or _leads_here(aim, stands, revision)):
        return True
    key = keys.item_key(spec.plan.job_id)
    condition = IfAbsent() if aim.item_etag is None else IfMatch(aim.item_etag)
    done = put_small(session, spec, run, key, data, "application/geo+json", condition)
    if done.outcome is Outcome.WRITTEN:
        return True
    item = read_item(session, spec)
    return item is not None and _leads_here(aim, item, revision)


def _leads_here(aim: Aim, item: Item, revision: int) -> bool:
    return aim.is_of(item) and item.revision == revision
