"""The published mosaic: its object, its row, its item, its preview, and the rows it came from."""

from collections.abc import Callable, Iterator

from scenemosaic import keys
from scenemosaic.committing.commit import is_ours
from scenemosaic.job_rows import BadRow, readable_row
from scenemosaic.manifests.port import Row
from scenemosaic.publishing.item import Item, older, unlike_mosaic
from scenemosaic.publishing.published import revision_of
from scenemosaic.publishing.rows_digest import RowFact, facts_digest, row_fact
from scenemosaic.session import JobSpec, Session
from scenemosaic.stores.port import ObjectInfo
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.verification import rules
from scenemosaic.verification.findings import GONE, Finding, Kind
from scenemosaic.verification.inspection import (
    UNREADABLE,
    absent,
    bad_row,
    found_at,
    gone,
    unreadable,
)
from scenemosaic.verification.mosaic_bytes import MosaicBytes, Verdict, open_mosaic
from scenemosaic.verification.reading import reader
from scenemosaic.verification.small_files import check_item, check_preview
from scenemosaic.words import some

SUBJECT = keys.MOSAIC_ROW


class MosaicCheck:
    """One mosaic under verification: it is looked up, told of each window's row, then read."""

    def __init__(self, session: Session, spec: JobSpec) -> None:
        self._session, self._spec = session, spec
        told = _told_by_row(session, spec)  # before the item, which is moved before its row
        self._item, self._item_findings = check_item(session, spec)
        self.revision = max(self._item.revision if self._item else 0, told)
        found = found_at(session, SUBJECT, self._key)
        self._no_object = found if isinstance(found, Finding) else None
        self._info = None if isinstance(found, Finding) else found
        self._bytes: MosaicBytes | None = None
        self._broken: Finding | None = None
        self._row: Row | None = None
        self._bad_row: BadRow | None = None
        self._facts: list[RowFact] = []
        if self._info is not None:
            self._open(self._info)

    @property
    def size_bytes(self) -> int:
        return self._info.size_bytes if self._info else 0

    def add(self, number: int, row: Row) -> None:
        """The row of a window."""
        self._facts.append(row_fact(row))
        if self._bytes is not None:
            self._bytes.add(number, row)

    def add_own(self, row: Row | BadRow) -> None:
        """The mosaic's own row."""
        if isinstance(row, BadRow):
            self._bad_row = row
        else:
            self._row = row

    def findings(
        self, *, deep: bool, workers: int, progress: Callable[[int, int], None]
    ) -> Iterator[Finding]:
        """Everything that is wrong; reads the whole mosaic."""
        if self._was_never_made:
            yield absent(SUBJECT)
            return
        yield from self._item_findings
        if self._item is not None and not self._is_led_to:
            text = older(self._item, self.revision)
            yield Finding("item", Kind.OLD_ITEM, text)
        if self._bad_row is not None:
            yield bad_row(SUBJECT, self._bad_row)
        if self._no_object is not None:
            yield self._no_object
        elif self._info is None:
            yield gone(self._session, SUBJECT, self._key, self._row)
        else:
            yield from self._of_object(self._info)
            yield from self._of_bytes(self._info, deep, workers, progress)
        yield from check_preview(self._session, self._spec, self.revision)

    @property
    def _was_never_made(self) -> bool:
        """Whether nothing of it is there at all."""
        parts = self._info, self._no_object, self._row, self._bad_row, self._item
        no_item = all(one.kind in GONE for one in self._item_findings)
        return no_item and all(part is None for part in parts)

    @property
    def _is_led_to(self) -> bool:
        """Whether it is the mosaic to which the item leads."""
        return self._item is not None and self._item.revision == self.revision

    @property
    def _key(self) -> str:
        return keys.mosaic_key(self._spec.plan.job_id, self.revision)

    def _open(self, info: ObjectInfo) -> None:
        recipe = self._spec.plan.recipe
        try:
            self._bytes = open_mosaic(reader(self._session, info), info.size_bytes, recipe)
        except BadTiff as error:
            self._broken = Finding(SUBJECT, Kind.BLOCKS, f"no mosaic of this job: {error}")
        except UNREADABLE as error:
            self._broken = unreadable(SUBJECT, error)

    def _of_object(self, info: ObjectInfo) -> Iterator[Finding]:
        row, uri = self._row, self._session.store.object_uri(info.key)
        if row is None:
            if self._bad_row is None:
                yield Finding(SUBJECT, Kind.MISSING_ROW, f"{uri} has no row")
        elif row.output_uri != uri:
            text = f"its row describes {row.output_uri}, not {uri}"
            yield Finding(SUBJECT, Kind.MISSING_ROW, text)
        else:
            yield from rules.of_stored(SUBJECT, row, info)
        yield from rules.of_metadata(SUBJECT, self._spec.plan.job_id, info, None)
        if self._item is not None and self._is_led_to:
            yield from _of_item(self._item, info, row)

    def _of_bytes(
        self, info: ObjectInfo, deep: bool, workers: int, progress: Callable[[int, int], None]
    ) -> Iterator[Finding]:
        if self._is_stale:
            text = "built from other rows than those that stand now: assemble or repair again"
            yield Finding(SUBJECT, Kind.STALE_MOSAIC, text)
        if self._bytes is None:
            if self._broken is not None:
                yield self._broken
            return
        verdict = self._bytes.check(deep=deep, workers=workers, progress=progress)
        yield from rules.of_undecodable(SUBJECT, verdict.undecodable, verdict.bad_blocks)
        if not self._is_stale:
            yield from self._of_rows(info, verdict)

    def _of_rows(self, info: ObjectInfo, verdict: Verdict) -> Iterator[Finding]:
        """Against the rows, which are those that it was built from."""
        tiling = self._spec.plan.recipe.tiling()
        if verdict.windows:
            names = [tiling.window(number).name for number in sorted(verdict.windows)]
            text = f"its bytes are not those of the rows of {some(names)}"
            yield Finding(SUBJECT, Kind.CHECKSUM, text)
        elif len(self._facts) == len(tiling) and is_ours(info, {"job_id": self._spec.plan.job_id}):
            stated = info.metadata.get("digest")
            if stated not in verdict.digests:
                text = f"its header or top levels are not those of its digest {stated}"
                yield Finding(SUBJECT, Kind.CHECKSUM, text)

    @property
    def _is_stale(self) -> bool:
        built_from = self._item.rows_sha256 if self._item and self._is_led_to else None
        complete = len(self._facts) == len(self._spec.plan.recipe.tiling())
        return built_from is not None and complete and built_from != facts_digest(self._facts)


def _told_by_row(session: Session, spec: JobSpec) -> int:
    """The revision of which the mosaic's row tells."""
    row = readable_row(session, session.partition(spec), keys.MOSAIC_ROW)
    if not isinstance(row, Row):
        return 0
    return revision_of(session, spec.plan.job_id, row.output_uri) or 0


def _of_item(item: Item, info: ObjectInfo, row: Row | None) -> Iterator[Finding]:
    """What only the item has wrong: of a damaged mosaic it says what stood there before."""
    for one in unlike_mosaic(item, info):
        if one.name == "size" and row is not None and row.bytes == one.said:
            continue
        kind = Kind.SIZE if one.name == "size" else Kind.CHECKSUM
        text = f"it says that the mosaic's {one.name} is {one.said}; it is {one.has}"
        yield Finding("item", kind, text)
