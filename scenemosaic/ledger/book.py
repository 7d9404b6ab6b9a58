"""A ledger under a root: opened, read, and changed by compare-and-swap."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeVar

from scenemosaic import keys
from scenemosaic.committing.commit import Effects, RetryPolicy, system_effects
from scenemosaic.committing.mutable import PATIENCE, Changed, Mutable
from scenemosaic.errors import InputError, LedgerLost, StoreError
from scenemosaic.ledger import rules
from scenemosaic.ledger.days import zone_of
from scenemosaic.ledger.rules import Answer, Decide, Ended, NotActive
from scenemosaic.ledger.state import (
    Cleared,
    Published,
    Reservation,
    State,
    check_slots,
)
from scenemosaic.ledger.text import MAX_BYTES, dump, load
from scenemosaic.moments import in_utc
from scenemosaic.stores.port import Store
from scenemosaic.waiting.service_clock import now_utc

A = TypeVar("A")
DEFAULT_NAME: Final = "publish"
_RUN_ID: Final = re.compile(r"[!-~]{1,128}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Who asks for a slot, and by which rule. InputError where the rule is none."""

    run_id: str
    job_id: str
    slots: int = 1
    time_zone: str = "UTC"
    operator: str = ""
    approved_by: str | None = None

    def __post_init__(self) -> None:
        # It becomes part of write-ids, which are headers.
        if not _RUN_ID.fullmatch(self.run_id):
            raise InputError(
                f"a run ID is 1 to 128 letters, digits or signs of ASCII, not {self.run_id!r:.80}"
            )
        check_slots(self.slots)
        zone_of(self.time_zone)


@dataclass(frozen=True, slots=True)
class Book:
    """The ledger ``name`` of a store. Every change either lands once or did not happen."""

    name: str
    mutable: Mutable
    now: Callable[[], datetime] = field(default=now_utc)

    def read(self) -> State:
        """The ledger as it stands; an empty one, of revision 0, where there is none."""
        return self._state(self.mutable.read().data)

    def existing(self) -> State:
        """The ledger as it stands, or InputError where there is none: its name may be mistyped."""
        data = self.mutable.read().data
        if data is None:
            raise InputError(f"no such ledger: {self.mutable.uri}{self._others()}")
        return self._state(data)

    def _others(self) -> str:
        try:
            names = keys.ledgers_among(info.key for info in self.mutable.store.list("ledger/"))
        except StoreError:  # to list is another permission than to read
            return ""
        return f"; there is {', '.join(names)}" if names else "; there is none here"

    def reserve(self, wanted: Wanted, at_least: int = 0) -> Changed[Answer]:
        """A slot of today and the one active run, or why not.

        Asking again under the same run ID and job changes nothing. Raises LedgerLost
        where the ledger's revision is below ``at_least``, which was seen before.
        """
        return self._change(lambda state: self._reserve(state, wanted, at_least), wanted.run_id)

    def foresee(self, wanted: Wanted, at_least: int = 0) -> Answer:
        """What :meth:`reserve` would answer now. Changes nothing, and raises the same."""
        return self._reserve(self.read(), wanted, at_least)[1]

    def _reserve(self, state: State, wanted: Wanted, at_least: int) -> rules.Decision[Answer]:
        if state.revision < at_least:
            raise LedgerLost(self._lost(state, at_least))
        return rules.reserve(state, self._reservation(wanted))

    def finish(self, run_id: str, published: Published) -> Changed[Ended | NotActive]:
        """End the run as published, by the run itself alone."""
        return self._change(
            lambda state: rules.finish(state, run_id, published, self._now()), run_id
        )

    def clear(self, run_id: str, cleared: Cleared) -> Changed[Ended | NotActive]:
        """End the active run, if it is exactly this one, for its dead holder."""
        return self._change(lambda state: rules.clear(state, run_id, cleared, self._now()), run_id)

    def _change(self, decide: Decide[A], run_id: str) -> Changed[A]:
        def swap(data: bytes | None, write_id: str) -> tuple[bytes | None, A]:
            state, answer = decide(self._state(data))
            return (None if state is None else dump(replace(state, write_id=write_id))), answer

        return self.mutable.change(swap, run_id)

    def _state(self, data: bytes | None) -> State:
        return State(self.name) if data is None else load(data, self.name, self.mutable.uri)

    def _reservation(self, wanted: Wanted) -> Reservation:
        return Reservation(
            wanted.run_id,
            wanted.job_id,
            self._now(),
            wanted.slots,
            wanted.time_zone,
            wanted.operator,
            wanted.approved_by,
        )

    def _now(self) -> datetime:
        return in_utc(self.now()).replace(microsecond=0)

    def _lost(self, state: State, at_least: int) -> str:
        found = f"has revision {state.revision}" if state.revision else "is gone"
        return (
            f"{self.mutable.uri} {found}, and had revision {at_least} when something was last "
            "published under it: restore its newest version, or publish under another ledger"
        )


def open_book(
    store: Store,
    name: str,
    *,
    now: Callable[[], datetime] = now_utc,
    policy: RetryPolicy = PATIENCE,
    effects: Effects | None = None,
) -> Book:
    """The ledger ``name`` of an open store; makes no request. InputError for no usable name."""
    mutable = Mutable(
        store,
        keys.ledger_key(name),
        max_bytes=MAX_BYTES,
        policy=policy,
        effects=effects or system_effects(),
    )
    return Book(name, mutable, now)
