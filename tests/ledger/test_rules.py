"""The ledger's rules as properties of random histories, and each answer by itself."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.errors import InputError
from scenemosaic.ledger import rules
from scenemosaic.ledger.days import day_of, zone_of
from scenemosaic.ledger.rules import Blocked, Ended, Exhausted, NotActive, Reserved
from scenemosaic.ledger.state import HISTORY, MAX_SLOTS, Cleared, Entry, Published, State
from scenemosaic.ledger.text import dump, load
from tests.ledger.times import FACTS, NOON, at, wish

DEAD = Cleared("op@host", "the machine is gone")
RUNS = tuple(f"run-{number}" for number in range(12))
steps = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "reserve", "finish", "finish", "clear"]),
        st.sampled_from(RUNS),
        # Hours that pass, also backwards: clocks of several machines.
        st.integers(-2, 30),
    ),
    max_size=60,
)


def play(state: State, verb: str, run_id: str, now: datetime, slots: int, zone: str) -> State:
    if verb == "reserve":
        changed, _ = rules.reserve(state, wish(run_id, now, slots, zone))
    elif verb == "finish":
        changed, _ = rules.finish(state, run_id, FACTS, now)
    else:
        changed, _ = rules.clear(state, run_id, DEAD, now)
    return state if changed is None else changed


@given(steps, st.integers(1, 3), st.sampled_from(["UTC", "Europe/Berlin", "America/Havana"]))
def test_any_history_keeps_the_rules(
    asked: list[tuple[str, str, int]], slots: int, zone: str
) -> None:
    state, now, here = State("l"), at("2026-03-28T12:00"), zone_of(zone)
    for verb, run_id, hours in asked:
        before, now = state, now + timedelta(hours=hours)
        state = play(before, verb, run_id, now, slots, zone)
        days = Counter(day_of(one.since, here) for one in state.reservations)
        assert max(days.values(), default=0) <= slots
        assert len({one.run_id for one in state.reservations}) == len(state.reservations)
        assert state.history[: len(before.history)] == before.history
        if state is not before:
            assert state.revision == before.revision + 1
        if len(state.history) > len(before.history):
            # Only the holder itself ends as published, and only that very run is cleared.
            assert before.active is not None
            assert before.active.run_id == run_id
            assert state.active is None
            assert isinstance(state.history[-1].end, Cleared if verb == "clear" else Published)
        elif state.active != before.active:
            assert before.active is None
            assert verb == "reserve"
        assert load(dump(state), "l", "uri") == state


@given(st.integers(0, 40), st.integers(1, MAX_SLOTS))
def test_the_history_is_bounded_and_still_counts_the_day(more: int, slots: int) -> None:
    state = State("l")
    for number in range(HISTORY + more):
        ended = Entry(wish(f"r{number}", slots=slots), NOON, FACTS)
        state = replace(state, history=(*state.history, ended)[-HISTORY:])
    held = replace(state, active=wish("last"))
    closed, _ = rules.finish(held, "last", FACTS, NOON)
    assert closed is not None
    assert len(closed.history) == HISTORY
    assert closed.history[-1].reservation.run_id == "last"
    changed, answer = rules.reserve(closed, wish("new", slots=slots))
    assert changed is None
    assert isinstance(answer, Exhausted)


def test_a_reservation_is_kept_by_whoever_asks_again() -> None:
    state, answer = rules.reserve(State("l"), wish("a"))
    assert answer == Reserved(wish("a"))
    assert state is not None
    later = wish("a", NOON + timedelta(hours=40))
    assert rules.reserve(state, later) == (None, Reserved(wish("a"), again=True))
    assert rules.slots_used(state, NOON, "UTC") == 1


def test_the_same_run_cannot_publish_another_job() -> None:
    state, _ = rules.reserve(State("l"), wish("a"))
    assert state is not None
    changed, answer = rules.reserve(state, wish("a", job_id="f" * 32))
    assert changed is None
    assert isinstance(answer, Blocked)


def test_whoever_is_second_learns_who_holds_it_and_for_how_long() -> None:
    state = State("l", active=wish("a"))
    blocked = rules.reserve(state, wish("b", NOON + timedelta(minutes=3)))
    assert blocked == (None, Blocked(wish("a"), 180.0))
    # A clock that runs behind makes no negative age.
    behind = rules.reserve(state, wish("b", NOON - timedelta(minutes=3)))
    assert behind == (None, Blocked(wish("a"), 0.0))


def test_slots_are_counted_by_the_day_of_the_zone() -> None:
    evening = at("2026-06-01T21:30")  # in Berlin 23:30
    state = State("l", history=(Entry(wish("a", evening), evening, FACTS),))
    late, tomorrow = at("2026-06-01T21:59"), at("2026-06-01T22:00")
    changed, answer = rules.reserve(state, wish("b", late, 1, "Europe/Berlin"))
    assert changed is None
    assert answer == Exhausted(1, 1, late.date(), "Europe/Berlin", tomorrow)
    changed, answer = rules.reserve(state, wish("b", tomorrow, 1, "Europe/Berlin"))
    assert isinstance(answer, Reserved)
    # The same moment is still the same day in UTC.
    changed, answer = rules.reserve(state, wish("b", tomorrow, 1, "UTC"))
    assert isinstance(answer, Exhausted)


def test_a_clock_that_runs_ahead_gives_no_further_slot() -> None:
    ahead = NOON + timedelta(days=2)
    state = State("l", history=(Entry(wish("a", ahead), ahead, FACTS),))
    _, answer = rules.reserve(state, wish("b", slots=1))
    assert isinstance(answer, Exhausted)


@pytest.mark.parametrize(("slots", "days_later"), [(1, 801), (2, 401), (3, 1)])
def test_the_next_slot_is_said_as_it_will_be_where_a_clock_ran_ahead(
    slots: int, days_later: int
) -> None:
    times = [NOON + timedelta(days=days) for days in (800, 0, 400)]
    history = tuple(Entry(wish(f"a{n}", when), when, FACTS) for n, when in enumerate(times))
    state = State("l", history=history)
    _, answer = rules.reserve(state, wish("b", slots=slots))
    assert isinstance(answer, Exhausted)
    midnight = NOON.replace(hour=0)
    assert answer.next_day_at == midnight + timedelta(days=days_later)
    before = rules.reserve(state, wish("b", answer.next_day_at - timedelta(seconds=1), slots))[1]
    assert isinstance(before, Exhausted)
    after = rules.reserve(state, wish("b", answer.next_day_at, slots))[1]
    assert isinstance(after, Reserved)


def test_finish_and_clear_are_done_once_and_found_done_after() -> None:
    state = State("l", active=wish("a"))
    finished, _ = rules.finish(state, "a", FACTS, NOON)
    assert finished is not None
    entry = Entry(wish("a"), NOON, FACTS)
    assert rules.finish(finished, "a", FACTS, NOON + timedelta(1)) == (None, Ended(entry))
    cleared, _ = rules.clear(state, "a", DEAD, NOON)
    assert cleared is not None
    entry = Entry(wish("a"), NOON, DEAD)
    assert rules.clear(cleared, "a", DEAD, NOON) == (None, Ended(entry))
    # Who was cleared has not published, whatever it did.
    assert rules.finish(cleared, "a", FACTS, NOON) == (None, NotActive(None, entry))


@pytest.mark.parametrize("run_id", ["b", "A", "a ", "", "run"])
def test_only_the_active_runs_exact_id_clears_it(run_id: str) -> None:
    state = State("l", active=wish("a"))
    assert rules.clear(state, run_id, DEAD, NOON) == (None, NotActive(wish("a"), None))


def test_a_cleared_slot_stays_used_and_its_run_never_comes_back() -> None:
    state, _ = rules.clear(State("l", active=wish("a")), "a", DEAD, NOON)
    assert state is not None
    assert rules.slots_used(state, NOON, "UTC") == 1
    changed, answer = rules.reserve(state, wish("a", NOON + timedelta(days=3)))
    assert (changed, answer) == (None, Ended(Entry(wish("a"), NOON, DEAD)))


@pytest.mark.parametrize("slots", [0, -1, MAX_SLOTS + 1])
def test_slots_are_bounded(slots: int) -> None:
    with pytest.raises(InputError, match="slots"):
        wish("a", slots=slots)
