"""The effects of one window's repair, each conditional on what was inspected.

docs/adr/0011-repair.md says why they come in this order.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from scenemosaic import keys
from scenemosaic.auditing import audit
from scenemosaic.auditing.audit import Record
from scenemosaic.auditing.trail import Trail
from scenemosaic.committing.commit import Committed, Outcome, commit_object, retrying
from scenemosaic.errors import ForeignObject, IncompleteError
from scenemosaic.grids.grid import Window
from scenemosaic.job_rows import row_of
from scenemosaic.manifests.port import Row
from scenemosaic.publishing.published import head
from scenemosaic.recipes.recipe_rules import LOSSY
from scenemosaic.repair.outcome import (
    RepairOutcome,
    WindowRepair,
    describe_object,
    describe_row,
    winner,
)
from scenemosaic.repair.rows import says_the_same, settle_row
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stores.port import Body, Condition, IfAbsent, IfMatch, ObjectInfo
from scenemosaic.tile import EncodedTile
from scenemosaic.verification.findings import WindowState
from scenemosaic.windows import tile_row

# What an object of nodata carries, so that it is never taken for the source's pixels.
WAIVED: Final = {"waived": "yes"}


@dataclass(frozen=True, slots=True)
class Target:
    """A window as it was inspected, and the run that may replace just that."""

    found: Trail[Session]
    spec: JobSpec
    run: Run
    state: WindowState

    def mend(self, tile: EncodedTile, waiver: str | None, *, made: bool) -> WindowRepair:
        """The object stays; its row is made to describe it, where it does not.

        ``made``: this run just made the same pixels, so that its versions stand for them.
        """
        row, info, before = self._row(tile, self.info, waiver), self.info, self.state.row
        if not made and before is not None:
            row = replace(row, software=before.software)
        lossy = self.spec.plan.recipe.compress in LOSSY
        if says_the_same(before, row, lossy=lossy):
            return self.outcome(self.as_it_was)
        self._write_ahead("row-replacing", {"row": describe_row(row)})
        if not settle_row(self.session, row, self.state.row, info):
            return self.lost()
        self.found.note("row-replaced", self.key, etag=info.etag, version_id=info.version_id)
        return self.outcome(self.as_it_was, mended=True, detail=self.what_was_wrong)

    def replace(self, tile: EncodedTile, waiver: str | None) -> WindowRepair:
        """The tile takes the place of the inspected object, and its row that of the row.

        Raises KeyHasHistory, before anything is written, where it is gone and the run strict.
        """
        self.found.before(self.key, self._condition)
        self._write_ahead("replacing", {"sha256": tile.sha256, "bytes": len(tile.data)})
        if self._moved_on():
            return self.lost()
        try:
            done = self._put(tile, waiver)
        except ForeignObject as error:
            self.found.note("superseded", self.key, by=str(error))
            return self.outcome("superseded", detail=str(error))
        if done.outcome is not Outcome.WRITTEN:
            return self.lost()
        stored = done.stored
        if not settle_row(self.session, self._row(tile, stored, waiver), self.state.row, stored):
            return self.lost()
        told = {"etag": stored.etag, "version_id": stored.version_id, "sha256": tile.sha256}
        self.found.note("replaced", self.key, **told)
        return self.outcome("written", detail=self.what_was_wrong)

    def lost(self) -> WindowRepair:
        """Somebody was there in between. Nothing of theirs is touched."""
        now, row = head(self.session, self.key), row_of(self.session, self.spec, self.state.number)
        gone = now is None and self.state.info is not None
        outcome: RepairOutcome = "target-gone" if gone else "superseded"
        detail = winner(now, row)
        self.found.note(outcome, self.key, by=detail)
        return self.outcome(outcome, detail=detail)

    @property
    def as_it_was(self) -> RepairOutcome:
        """What to say of an object that stays: written, where an earlier try of this run did it."""
        info, ours = self.state.info, self.run.write_id(f"{self.state.name}@")
        own = info is not None and info.metadata.get("write_id", "").startswith(ours)
        return "written" if own else "unchanged"

    def outcome(
        self, outcome: RepairOutcome, *, mended: bool = False, detail: str | None = None
    ) -> WindowRepair:
        return WindowRepair(self.state.name, outcome, mended, detail)

    def standing_bytes(self) -> bytes:
        """The inspected object's. Raises IncompleteError where another version stands there."""
        get = partial(self.session.store.get, self.key, etag=self.info.etag)
        return retrying(get, self.session.policy, self.session.effects)

    @property
    def session(self) -> Session:
        return self.found.session

    @property
    def info(self) -> ObjectInfo:
        if self.state.info is None:
            raise IncompleteError(f"{self.uri} is gone")
        return self.state.info

    @property
    def window(self) -> Window:
        return self.spec.plan.recipe.tiling().window(self.state.number)

    @property
    def key(self) -> str:
        return keys.tile_key(self.spec.plan.job_id, self.state.name)

    @property
    def uri(self) -> str:
        return self.session.store.object_uri(self.key)

    def _moved_on(self) -> bool:
        """Whether object or row are not those that were inspected any more.

        Where an ETag is a content hash, If-Match alone would let x, y, x pass.
        """
        if head(self.session, self.key) != self.state.info:
            return True
        return row_of(self.session, self.spec, self.state.number) != self.state.row

    def _put(self, tile: EncodedTile, waiver: str | None) -> Committed:
        session = self.session
        name = f"{self.state.name}@{self._change()}"
        more = WAIVED if waiver else {}
        metadata = session.metadata(self.spec, self.run, name, sha256=tile.sha256, **more)
        body = Body(tile.data, tile.sha256, keys.TIFF_CONTENT_TYPE, metadata)
        return commit_object(
            session.store, self.key, body, self._condition, session.policy, session.effects
        )

    @property
    def _condition(self) -> Condition:
        return IfAbsent() if self.state.info is None else IfMatch(self.state.info.etag)

    def _change(self) -> str:
        """Names the version that is replaced: a write-id is of this very change."""
        info, row = self.state.info, self.state.row
        known = (info and (info.etag, info.version_id), row and row.revision)
        return hashlib.sha256(repr(known).encode()).hexdigest()[:16]

    def _row(self, tile: EncodedTile, stored: ObjectInfo, waiver: str | None) -> Row:
        row = tile_row(self.session, self.spec, self.state.number, tile, stored, self.run)
        return replace(row, waiver=waiver)

    def _write_ahead(self, event: str, details: dict[str, object]) -> None:
        """The former values, kept before they are replaced: a death afterwards loses none."""
        former = {
            "former_row": describe_row(self.state.row),
            "former_object": describe_object(self.state.info),
            "findings": [finding.to_json() for finding in self.state.findings],
        }
        record = Record(event, self.key, {**former, **details})
        audit.append(self.found.plain, self.spec.plan.job_id, self.run, [record])

    @property
    def what_was_wrong(self) -> str | None:
        return "; ".join(finding.detail for finding in self.state.findings) or None
