"""What a piece of work leaves in the audit log and in the counters, collected as it goes."""

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from scenemosaic import keys
from scenemosaic.auditing import audit
from scenemosaic.auditing.audit import Record
from scenemosaic.committing import history
from scenemosaic.committing.metrics import Subject, count_outcomes
from scenemosaic.committing.outcome import OVER_MARKER, Committed, Outcome
from scenemosaic.committing.refusal import Refusal
from scenemosaic.errors import SceneMosaicError, StoreError
from scenemosaic.session import Run
from scenemosaic.store_session import AnySession
from scenemosaic.stores.port import Condition, IfAbsent, ObjectInfo

S = TypeVar("S", bound=AnySession)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trace:
    """What is left of a trail: counters by outcome, and what is not in the audit log yet."""

    counters: Mapping[str, int] = field(default_factory=dict)
    unrecorded: tuple[Record, ...] = ()


@dataclass(slots=True)
class Trail(Generic[S]):
    """The records of one piece of work, and its commits' outcomes and counters added up.

    It is the witness (:class:`scenemosaic.committing.witness.Witness`) of every commit that is
    made with :attr:`session`. ``trace`` is complete once the trail has ended.
    """

    plain: S
    run: Run
    records: list[Record] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)
    trace: Trace = field(default_factory=Trace)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def session(self) -> S:
        """The session whose commits are told to this trail."""
        return self.plain.witnessed(self)

    def note(self, event: str, key: str, **details: object) -> None:
        """Something to record; ``details`` is JSON."""
        with self._lock:
            self.records.append(Record(event, key, details, self.plain.now()))

    def before(self, key: str, condition: Condition) -> None:
        """Raise KeyHasHistory where the run is strict and the key to be created had an object."""
        if self.run.strict_history and isinstance(condition, IfAbsent):
            history.refuse(self._past(key), key, self.plain.store.object_uri(key))

    def after(self, done: Committed, condition: Condition) -> Committed:
        """Record the refusals. A create over a delete marker is a warning, a record, a count."""
        self.failed(done.refusals)
        if isinstance(condition, IfAbsent) and done.outcome is Outcome.WRITTEN:
            found = self._over_marker(done.stored)
            done = replace(done, counters={**done.counters, OVER_MARKER: found})
        with self._lock:
            self.counters.update(done.counters)
            self.counters[done.outcome.value.replace("-", "_")] += 1
        return done

    def failed(self, refusals: Sequence[Refusal]) -> None:
        """Record refusals."""
        with self._lock:
            self.records.extend(audit.of_refusal(refusal) for refusal in refusals)

    def _over_marker(self, stored: ObjectInfo) -> int:
        if stored.version_id is None:  # no versions are kept
            return 0
        found = self._past(stored.key).get(stored.key, ())
        older = [one for one in found if one.version_id != stored.version_id]
        if not older:
            return 0
        uri = self.plain.store.object_uri(stored.key)
        _log.warning("%s was created over what had been deleted: %s", uri, history.describe(older))
        self.note(
            "created-over-delete-marker",
            stored.key,
            version_id=stored.version_id,
            versions=[one.version_id for one in older if not one.marker],
            markers=[one.version_id for one in older if one.marker],
        )
        return 1

    def _past(self, key: str) -> history.Past:
        """What stood in the key's folder before, looked at once a run."""
        session, prefix = self.plain, keys.folder_of(key)

        def look() -> history.Past:
            try:
                return history.look(session.store, prefix, session.policy, session.effects)
            except StoreError as error:
                if self.run.strict_history:
                    raise
                _log.warning("a create over a delete marker would go unnoticed: %s", error)
                return history.NOTHING

        return session.looks.once((self.run.run_id, prefix), look)


@contextmanager
def trail(session: S, log: str, run: Run, of: Subject = "object") -> Iterator[Trail[S]]:
    """A trail that is appended to the log at the end, as one batch; also where the work raises.

    Use its session in the work; ``log`` is a job's ID or ``keys.ledger_log``, ``of`` says what
    its commits are counted as. A fault of the log changes nothing of what the work came to.
    """
    found = Trail(session, run)
    try:
        yield found
    except SceneMosaicError:
        count_outcomes(found.counters, of)
        tell(run, audit.keep(session, log, run, found.records))
        raise
    count_outcomes(found.counters, of)
    left = audit.keep(session, log, run, found.records)
    found.trace = Trace(dict(found.counters), left)


def tell(run: Run, unrecorded: Sequence[Record]) -> None:
    """Say as warnings what is not in the audit log, and will not come there."""
    for record in unrecorded:
        _log.warning("not in the audit log: %s", audit.as_line(record, run, "").decode())
