"""What may happen to a ledger: pure functions of its state, the time and what is asked.

Each answers with the state to store, or None where nothing is to change, and with a value
that says why. A run ID has one life: reserved, then published or cleared, and never again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TypeVar

from scenemosaic.ledger.days import day_of, next_day_at, zone_of
from scenemosaic.ledger.state import HISTORY, Cleared, Entry, Published, Reservation, State

A = TypeVar("A")
Decision = tuple[State | None, A]
Decide = Callable[[State], Decision[A]]


@dataclass(frozen=True, slots=True)
class Reserved:
    """The run holds the ledger. ``again``: it did before, and used no further slot."""

    reservation: Reservation
    again: bool = False


@dataclass(frozen=True, slots=True)
class Blocked:
    """Another run holds the ledger, since ``age_s`` seconds."""

    by: Reservation
    age_s: float


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The day's slots are used up; ``next_day_at`` is when one is free again, in UTC."""

    used: int
    slots: int
    day: date
    time_zone: str
    next_day_at: datetime


@dataclass(frozen=True, slots=True)
class Ended:
    """The run has ended already: published, or cleared by an operator."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class NotActive:
    """The run does not hold the ledger; who does, and how the run ended where that is known."""

    active: Reservation | None
    entry: Entry | None


Answer = Reserved | Blocked | Exhausted | Ended


def reserve(state: State, wanted: Reservation) -> Decision[Answer]:
    """One slot of the day and the one active run, both or none."""
    if (entry := state.entry_of(wanted.run_id)) is not None:
        return None, Ended(entry)
    active = state.active
    if active is not None:
        if (active.run_id, active.job_id) == (wanted.run_id, wanted.job_id):
            return None, Reserved(active, again=True)
        return None, Blocked(active, age_s(active, wanted.since))
    days = _days_used(state, wanted.since, wanted.time_zone)
    if len(days) < wanted.slots:
        return _next(state, active=wanted), Reserved(wanted)
    zone = zone_of(wanted.time_zone)
    return None, Exhausted(
        used=len(days),
        slots=wanted.slots,
        day=day_of(wanted.since, zone),
        time_zone=wanted.time_zone,
        next_day_at=next_day_at(days[-wanted.slots], zone),
    )


def finish(
    state: State, run_id: str, published: Published, now: datetime
) -> Decision[Ended | NotActive]:
    """End the active run as published; only the run itself may."""
    return _end(state, run_id, published, now)


def clear(
    state: State, run_id: str, cleared: Cleared, now: datetime
) -> Decision[Ended | NotActive]:
    """End the active run for its dead holder. Its slot stays used."""
    return _end(state, run_id, cleared, now)


def slots_used(state: State, now: datetime, time_zone: str) -> int:
    """The slots of today: a time from a clock that runs ahead counts as today's."""
    return len(_days_used(state, now, time_zone))


def _days_used(state: State, now: datetime, time_zone: str) -> list[date]:
    """The days of these slots, sorted: today, and those of a clock that ran ahead."""
    zone = zone_of(time_zone)
    days = [day_of(one.since, zone) for one in state.reservations]
    return sorted(day for day in days if day >= day_of(now, zone))


def age_s(active: Reservation, now: datetime) -> float:
    """For how long a run is active, by the clock of whoever asks; never negative."""
    return max((now - active.since).total_seconds(), 0.0)


def _end(
    state: State, run_id: str, end: Published | Cleared, now: datetime
) -> Decision[Ended | NotActive]:
    active, entry = state.active, state.entry_of(run_id)
    if active is not None and active.run_id == run_id:
        entry = Entry(active, now, end)
        return _next(state, active=None, history=(*state.history, entry)[-HISTORY:]), Ended(entry)
    # After a lost reply, or asked twice: the wanted state was reached before.
    if entry is not None and type(entry.end) is type(end):
        return None, Ended(entry)
    return None, NotActive(active, entry)


def _next(state: State, **changes: object) -> State:
    return replace(state, revision=state.revision + 1, **changes)  # type: ignore[arg-type]
