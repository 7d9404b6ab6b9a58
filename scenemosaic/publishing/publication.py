"""Publishing a named job: a slot of the ledger, ``latest.json``, the catalog, and the ledger again.

The reservation keeps two publications apart; each write carries its own condition all the
same (:mod:`scenemosaic.publishing.pointer`).
"""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from scenemosaic.committing.mutable import Changed
from scenemosaic.errors import (
    ConflictError,
    LeaseCleared,
    LeaseHeld,
    SlotsUsedUp,
    StoreError,
    Superseded,
)
from scenemosaic.ledger.book import Book, Wanted, open_book
from scenemosaic.ledger.log import recorded
from scenemosaic.ledger.rules import Answer, Blocked, Ended, Exhausted, NotActive, Reserved
from scenemosaic.ledger.state import Entry, Published
from scenemosaic.publishing import ledger_words as words
from scenemosaic.publishing.inspection import inspect
from scenemosaic.publishing.latest import Latest, Target
from scenemosaic.publishing.pointer import Pointer
from scenemosaic.session import JobSpec, Run, open_session

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
        return _Publisher(spec, book, wanted).publish(approved)


def settled(spec: JobSpec, ledger: str, wanted: Wanted) -> Publication | None:
    """What :func:`publish` would answer without anything to do, whatever others do meanwhile.

    None where there is something to publish, be it that others are in the way by now.
    Changes nothing; raises as :func:`publish` does.
    """
    session = open_session(spec)
    book = open_book(session.store, ledger, effects=session.effects)
    return _Publisher(spec, book, wanted).foresee().settled


@dataclass(frozen=True, slots=True)
class _Foreseen:
    """How things stand before anything is changed; ``settled`` where nothing is to be done."""

    stands: Latest | None
    at_least: int
    answer: Answer
    settled: Publication | None


class _Publisher:
    """One publication under way, with what it has counted."""

    def __init__(self, spec: JobSpec, book: Book, wanted: Wanted) -> None:
        self._spec, self._book, self._wanted = spec, book, wanted
        self._pointer = Pointer(book, wanted.run_id)
        self._counters = Counter[str]()

    def publish(self, approved: Target | None) -> Publication:
        now = self.foresee()
        if now.settled is not None:
            return now.settled
        answer = now.answer
        if isinstance(answer, Reserved):  # else the job need not be looked at
            target = inspect(self._spec, approved)
            answer = self._count(self._book.reserve(self._wanted, now.at_least))
            if isinstance(answer, Reserved):
                return self._outcome(answer, self._carry_out(target))
        return self._refused(answer, now.stands)

    def foresee(self) -> _Foreseen:
        before, catalog = self._pointer.look()
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
        return self._pointer.is_listed(stands, catalog)  # else: list it

    def _refused(self, answer: Blocked | Exhausted | Ended, stands: Latest | None) -> Publication:
        match answer:
            case Ended():
                return self._ended(answer, stands)
            case Blocked():
                text = words.blocked(self._book, self._spec.root, answer, stands)
                return self._outcome(answer, stands, LeaseHeld(text))
            case Exhausted():
                return self._outcome(answer, stands, SlotsUsedUp(words.exhausted(answer)))

    def _carry_out(self, target: Target) -> Latest:
        try:
            now = self._count(self._pointer.move(target))
            self._count(self._pointer.list_in_catalog(now))
            end = self._count(self._book.finish(self._wanted.run_id, target.pinned))
        except StoreError:
            _log.warning("%s", words.still_held(self._book, self._spec.root, self._wanted.run_id))
            raise
        if isinstance(end, NotActive):
            raise LeaseCleared(words.cleared(self._book, self._wanted.run_id, end.entry))
        return now

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
