"""Publishing a named job: a slot of the ledger, ``latest.json``, the catalog, and the ledger again.

The reservation keeps two publications apart; each write carries its own condition all the
same. A holder that was cleared and comes back cannot write over a newer ``latest.json``:
that is read first, then the ledger is asked once more, and the write matches what was read.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from scenemosaic import keys
from scenemosaic.errors import (
    ConflictError,
    ForeignObject,
    IncompleteError,
    LeaseCleared,
    LeaseHeld,
    NotApproved,
    SlotsUsedUp,
    StoreError,
    Superseded,
)
from scenemosaic.job import finished
from scenemosaic.ledger import words
from scenemosaic.ledger.book import Book, Wanted, open_book
from scenemosaic.ledger.log import recorded
from scenemosaic.ledger.rules import Answer, Blocked, Ended, Exhausted, NotActive, Reserved
from scenemosaic.ledger.state import Entry, Published, State
from scenemosaic.manifests.port import Row
from scenemosaic.mutable import Changed, Mutable
from scenemosaic.next_step import command
from scenemosaic.publishing import latest
from scenemosaic.publishing.item import Item, read_item
from scenemosaic.publishing.latest import Latest, Target
from scenemosaic.publishing.published import MosaicResult, mosaic_row
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.stores.port import Store

A = TypeVar("A")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Publication:
    """What a publication came to. A conflict is a value: to repeat it would not change it.

    ``answer`` is the ledger's, None where no slot was asked for, since this very mosaic was
    the latest; ``latest`` is what ``latest.json`` says. ``counters`` tell how
    often others came first or a reply was lost, over all objects together.
    """

    wanted: Wanted
    ledger: str
    answer: Answer | None
    latest: Latest | None
    conflict: ConflictError | None = None
    counters: Mapping[str, int] = field(default_factory=dict)

    @property
    def already(self) -> bool:
        """It had been published before; nothing was changed."""
        return self.conflict is None and not isinstance(self.answer, Reserved)


def inspect(spec: JobSpec) -> Target:
    """The job's current mosaic, pinned. Changes nothing.

    Raises IncompleteError where the job is not finished, ForeignObject where its item,
    its row and its mosaic do not describe one and the same object.
    """
    session, job_id = open_session(spec), spec.plan.job_id
    mosaic, item = finished(spec), read_item(session, spec)
    if mosaic is None or item is None:
        raise IncompleteError(
            f"job {job_id} is not finished, and only what is finished is published: see "
            f"{command('status', job_id, spec.place)}"
        )
    if not _agree(mosaic, item, mosaic_row(session, spec)):
        raise ForeignObject(
            f"{mosaic.uri} (ETag {mosaic.etag}, digest {mosaic.digest}) is not the mosaic that "
            f"{mosaic.item} and its row describe: see "
            f"{command('verify', job_id, spec.place)}"
        )
    key = keys.mosaic_key(job_id, mosaic.revision)
    pinned = Published(mosaic.revision, mosaic.digest, mosaic.etag, mosaic.version_id)
    href = f"./{key.removeprefix('mosaics/')}"
    return Target(job_id, href, mosaic.bytes, pinned, spec.plan.title)


def _agree(mosaic: MosaicResult, item: Item, row: Row | None) -> bool:
    if row is None or (item.revision, item.mosaic[1]) != (mosaic.revision, mosaic.digest):
        return False
    stands = (mosaic.uri, mosaic.bytes, mosaic.etag, mosaic.version_id)
    return stands == (row.output_uri, row.bytes, row.etag, row.version_id)


def read_latest(store: Store) -> Latest | None:
    """What ``latest.json`` says. Raises ForeignObject where that is nothing of ours."""
    mutable = Mutable(store, keys.POINTER_KEY)
    data = mutable.read().data
    return None if data is None else latest.load(data, mutable.uri)


def publish(
    spec: JobSpec, ledger: str, wanted: Wanted, approved: Target | None = None
) -> Publication:
    """Publish the job's current mosaic, which has to be ``approved`` where that is given.

    Asked again under the same run ID it goes on where it was, or finds that all is done
    and changes nothing; so does any run whose mosaic was the last to be published under this
    ledger: no slot is used. Raises IncompleteError, StoreError, and ConflictError for what
    nobody foresees: foreign objects, a lost ledger, a lease that was cleared meanwhile.
    What is refused on the way stands in the ledger's audit log.
    """
    run = Run(wanted.run_id, wanted.run_id, wanted.operator)
    with recorded(open_session(spec), ledger, run) as session:
        book = open_book(session.store, ledger, effects=session.effects)
        return _Publisher(session, spec, book, wanted).publish(approved)


def settled(spec: JobSpec, ledger: str, wanted: Wanted) -> Publication | None:
    """What :func:`publish` would answer without anything to do, whatever others do meanwhile.

    None where there is something to publish, be it that others are in the way by now.
    Changes nothing; raises as :func:`publish` does.
    """
    session = open_session(spec)
    book = open_book(session.store, ledger, effects=session.effects)
    return _Publisher(session, spec, book, wanted).foresee().settled


@dataclass(frozen=True, slots=True)
class _Foreseen:
    """How things stand before anything is changed; ``settled`` where nothing is to be done."""

    stands: Latest | None
    at_least: int
    answer: Answer
    settled: Publication | None


class _Publisher:
    """One publication under way, with what it has counted."""

    def __init__(self, session: Session, spec: JobSpec, book: Book, wanted: Wanted) -> None:
        self._spec, self._book, self._wanted = spec, book, wanted
        self._pointer = Mutable(session.store, keys.POINTER_KEY, effects=session.effects)
        self._catalog = Mutable(session.store, keys.CATALOG_KEY, effects=session.effects)
        self._counters = Counter[str]()

    def publish(self, approved: Target | None) -> Publication:
        now = self.foresee()
        if now.settled is not None:
            return now.settled
        answer = now.answer
        if isinstance(answer, Reserved):  # else the job need not be looked at
            target = self._inspect(approved)
            answer = self._count(self._book.reserve(self._wanted, now.at_least))
            if isinstance(answer, Reserved):
                return self._outcome(answer, self._carry_out(target))
        return self._refused(answer, now.stands)

    def foresee(self) -> _Foreseen:
        before, catalog = self._look()
        known = before is not None and before.ledger == self._book.name
        at_least = before.ledger_revision if before is not None and known else 0
        answer, settled = self._book.foresee(self._wanted, at_least), None
        if before is not None and known and self._nothing_new(answer, before, catalog):
            settled = self._outcome(None, before)
        elif isinstance(answer, Ended):
            settled = self._ended(answer, before)
        return _Foreseen(before, at_least, answer, settled)

    def _nothing_new(self, answer: Answer, stands: Latest, catalog: bytes | None) -> bool:
        """Whether a new run, which nobody blocks, would publish what is the latest already."""
        if isinstance(answer, Blocked | Ended) or (isinstance(answer, Reserved) and answer.again):
            return False
        if stands.target.job_id != self._wanted.job_id or stands.target != inspect(self._spec):
            return False
        return latest.catalog(catalog, stands, self._catalog.uri) == catalog  # else: list it

    def _refused(self, answer: Blocked | Exhausted | Ended, stands: Latest | None) -> Publication:
        match answer:
            case Ended():
                return self._ended(answer, stands)
            case Blocked():
                text = words.blocked(self._book, self._spec.root, answer, stands)
                return self._outcome(answer, stands, LeaseHeld(text))
            case Exhausted():
                return self._outcome(answer, stands, SlotsUsedUp(words.exhausted(answer)))

    def _look(self) -> tuple[Latest | None, bytes | None]:
        """Latest and catalog, so that nothing unreadable is found only once the ledger is held."""
        data, before = self._catalog.read().data, read_latest(self._pointer.store)
        if data is not None:
            latest.listed(data, self._catalog.uri)
        return before, data

    def _inspect(self, approved: Target | None) -> Target:
        target = inspect(self._spec)
        if approved is not None and target != approved:
            raise NotApproved(
                f"job {target.job_id} is at revision {target.pinned.revision} (digest "
                f"{target.pinned.digest}) and no longer what was approved, revision "
                f"{approved.pinned.revision} (digest {approved.pinned.digest}): ask again"
            )
        return target

    def _carry_out(self, target: Target) -> Latest:
        try:
            now = self._point(target)
            self._list(now)
            end = self._count(self._book.finish(self._wanted.run_id, target.pinned))
        except StoreError:
            _log.warning("%s", words.still_held(self._book, self._spec.root, self._wanted.run_id))
            raise
        if isinstance(end, NotActive):
            raise LeaseCleared(words.cleared(self._book, self._wanted.run_id, end.entry))
        return now

    def _point(self, target: Target) -> Latest:
        def decide(data: bytes | None, write_id: str) -> tuple[bytes | None, Latest]:
            before = None if data is None else latest.load(data, self._pointer.uri)
            if before is not None and self._is_mine(before, target):
                return None, before
            state = self._held()
            revision = (self._book.name, state.revision)
            after = latest.after(before, target, self._wanted.run_id, revision, self._book.now())
            return latest.dump(after), after

        return self._count(self._pointer.change(decide, self._wanted.run_id))

    def _is_mine(self, stands: Latest, target: Target) -> bool:
        return (stands.run_id, stands.target) == (self._wanted.run_id, target)

    def _list(self, now: Latest) -> None:
        def decide(data: bytes | None, write_id: str) -> tuple[bytes | None, None]:
            wanted = latest.catalog(data, now, self._catalog.uri)
            if wanted == data:
                return None, None
            self._held()
            return wanted, None

        self._count(self._catalog.change(decide, self._wanted.run_id))

    def _held(self) -> State:
        """The ledger, which this run still holds; LeaseCleared where it does not."""
        state = self._book.read()
        if state.active is None or state.active.run_id != self._wanted.run_id:
            entry = state.entry_of(self._wanted.run_id)
            raise LeaseCleared(words.cleared(self._book, self._wanted.run_id, entry))
        return state

    def _ended(self, answer: Ended, stands: Latest | None) -> Publication:
        """This run ID has had its life: all is done, or others have come after it."""
        entry = answer.entry
        if not isinstance(entry.end, Published):
            text = words.cleared(self._book, self._wanted.run_id, entry)
            return self._outcome(answer, stands, LeaseCleared(text))
        if self._stands(entry, stands):
            return self._outcome(answer, stands)
        return self._outcome(answer, stands, Superseded(words.superseded(entry, stands)))

    def _stands(self, entry: Entry, stands: Latest | None) -> bool:
        """Whether ``latest.json`` still names what this run published, and that is wanted now."""
        if stands is None or stands.target.job_id != self._wanted.job_id:
            return False
        return (stands.run_id, stands.target.pinned) == (self._wanted.run_id, entry.end)

    def _outcome(
        self, answer: Answer | None, stands: Latest | None, conflict: ConflictError | None = None
    ) -> Publication:
        counters = {name: count for name, count in self._counters.items() if count}
        return Publication(self._wanted, self._book.name, answer, stands, conflict, counters)

    def _count(self, changed: Changed[A]) -> A:
        self._counters.update(changed.counters)
        return changed.answer
