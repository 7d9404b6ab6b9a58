"""Compare-and-swap of a ledger on every store: lost replies, delays, 409, contention, storms."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from scenemosaic import keys
from scenemosaic.committing import mutable
from scenemosaic.committing.mutable import STORM, SUPERSEDED
from scenemosaic.errors import ForeignObject, InputError, LedgerLost, TransientStoreError
from scenemosaic.ledger.book import Book, Wanted, open_book
from scenemosaic.ledger.rules import Blocked, Ended, Exhausted, NotActive, Reserved
from scenemosaic.ledger.state import Cleared, Published
from scenemosaic.stores.port import Store
from scenemosaic.waiting.retry import Effects, RetryPolicy, system_effects
from tests.faults.effects import FakeTime
from tests.faults.stores import InterveningStore
from tests.ledger.times import FACTS, JOB, NOON
from tests.manifests.support import until_settled
from tests.scenarios.stands import Act, Stand

NAME = "daily"
KEY = keys.ledger_key(NAME)
DEAD = Cleared("op@host", "the machine is gone")
POLICY = RetryPolicy(attempts=12)


def book(store: Store, effects: Effects | None = None, policy: RetryPolicy = POLICY) -> Book:
    effects = effects or FakeTime().effects()
    return open_book(store, NAME, now=lambda: NOON, policy=policy, effects=effects)


def wanted(run_id: str, slots: int = 2) -> Wanted:
    return Wanted(run_id, JOB, slots)


def at_the_first_pause(act: Act) -> Effects:
    """Something happens before the second attempt."""
    time, left = FakeTime(), [act]

    def sleep(pause_s: float) -> None:
        time.now_s += pause_s
        if left:
            left.pop()()

    return Effects(lambda: time.now_s, sleep, lambda: 1.0)


def test_a_day_of_two_slots(stand: Stand) -> None:
    ours, theirs = book(stand.store), book(stand.direct)
    assert isinstance(ours.reserve(wanted("a")).answer, Reserved)
    assert isinstance(theirs.reserve(wanted("b")).answer, Blocked)
    assert isinstance(theirs.finish("b", FACTS).answer, NotActive)
    assert isinstance(ours.finish("a", FACTS).answer, Ended)
    assert isinstance(theirs.reserve(wanted("b")).answer, Reserved)
    assert isinstance(ours.clear("b", DEAD).answer, Ended)
    assert isinstance(ours.reserve(wanted("c")).answer, Exhausted)
    state = theirs.read()
    assert (state.revision, state.active) == (4, None)
    assert [entry.end for entry in state.history] == [FACTS, DEAD]
    assert state.write_id.startswith("b/")
    assert stand.door.versions(KEY) == (4 if stand.versioned else 1)


def test_asking_again_changes_nothing(stand: Stand) -> None:
    ours = book(stand.store)
    ours.reserve(wanted("a"))
    before = stand.door.versions(KEY)
    again = ours.reserve(wanted("a"))
    assert again.answer == Reserved(ours.read().reservations[0], again=True)
    assert not any(again.counters.values())
    assert stand.door.versions(KEY) == before
    assert ours.read().revision == 1


def test_a_lost_reply_is_found_to_be_ours(stand: Stand) -> None:
    ours = book(stand.store)
    for change in (
        lambda: ours.reserve(wanted("a")),
        lambda: ours.finish("a", FACTS),
    ):
        stand.faults.lose_reply()
        assert change().counters["own_write_recovered"] == 1
    state = ours.read()
    assert (state.revision, len(state.history)) == (2, 1)


@pytest.mark.parametrize("release", ["before", "after"])
def test_a_delayed_change_lands_once(stand: Stand, release: str) -> None:
    book(stand.direct).reserve(wanted("a"))
    pausing = at_the_first_pause(stand.faults.release) if release == "before" else None
    stand.faults.hold()
    assert isinstance(book(stand.store, pausing).finish("a", FACTS).answer, Ended)
    stand.faults.release()
    state = book(stand.direct).read()
    assert (state.revision, len(state.history)) == (2, 1)


def test_a_409_is_no_refusal(with_409: Stand) -> None:
    with_409.faults.conflict()
    done = book(with_409.store).reserve(wanted("a"))
    assert isinstance(done.answer, Reserved)
    assert done.counters["conflict_409_retried"] == 1
    assert done.counters.get(SUPERSEDED, 0) == 0


def test_a_lost_reservation_that_was_cleared_meanwhile_is_not_taken_again(stand: Stand) -> None:
    """It landed, its reply was lost, and by the next attempt others have come and gone."""
    theirs = book(stand.direct)

    def meanwhile() -> None:
        theirs.clear("a", DEAD)
        theirs.reserve(wanted("b"))

    stand.faults.lose_reply()
    done = book(stand.store, at_the_first_pause(meanwhile)).reserve(wanted("a"))
    assert isinstance(done.answer, Ended)
    assert done.answer.entry.end == DEAD
    assert done.counters[SUPERSEDED] == 1
    state = theirs.read()
    assert state.active is not None
    assert state.active.run_id == "b"


def test_a_lost_finish_is_found_in_the_history(stand: Stand) -> None:
    theirs = book(stand.direct)
    theirs.reserve(wanted("a"))
    stand.faults.lose_reply()
    pausing = at_the_first_pause(lambda: theirs.reserve(wanted("b")))
    done = book(stand.store, pausing).finish("a", FACTS)
    assert isinstance(done.answer, Ended)
    assert len(theirs.read().history) == 1


def test_of_many_at_once_each_is_published_once_though_replies_are_lost(stand: Stand) -> None:
    stand.faults.lose_many(0.2, seed=11)
    quick = RetryPolicy(attempts=200, base_s=0.002, cap_s=0.05)

    def publish(run_id: str) -> int:
        ours, blocked = book(stand.store, system_effects(), quick), 0
        while isinstance(
            answer := until_settled(lambda: ours.reserve(wanted(run_id, 100))).answer, Blocked
        ):
            blocked += 1
        assert isinstance(answer, Reserved)
        facts = Published(0, run_id, "etag")
        assert isinstance(until_settled(lambda: ours.finish(run_id, facts)).answer, Ended)
        return blocked

    runs = [f"run-{number}" for number in range(15)]
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(publish, runs))
    state = book(stand.direct).read()
    assert (state.revision, state.active) == (30, None)
    assert sorted(entry.reservation.run_id for entry in state.history) == sorted(runs)
    assert [entry.end for entry in state.history] == [
        Published(0, entry.reservation.run_id, "etag") for entry in state.history
    ]


def test_a_storm_is_counted_and_told(
    make_stand: Callable[[str], Stand],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[int] = []
    monkeypatch.setattr(mutable, "count_outcomes", lambda found: told.append(found[SUPERSEDED]))
    sound = make_stand("local").direct
    theirs = book(sound)

    def before(write: int) -> None:
        if write <= STORM:
            theirs.reserve(wanted(f"t{write}", 100))
            theirs.finish(f"t{write}", FACTS)

    time = FakeTime()
    stormy = book(InterveningStore(sound, before), time.effects())
    done = stormy.reserve(wanted("a", 100))
    assert isinstance(done.answer, Reserved)
    assert done.counters[SUPERSEDED] == done.counters["refused"] == told[-1] == STORM
    assert f"{STORM} changes by others" in caplog.text
    assert len(time.sleeps) == STORM
    assert max(time.sleeps) <= POLICY.cap_s


def test_a_storm_without_end_gives_up_and_changed_nothing(
    make_stand: Callable[[str], Stand],
) -> None:
    sound = make_stand("local").direct
    theirs = book(sound)

    def before(write: int) -> None:
        theirs.reserve(wanted(f"t{write}", 100))
        theirs.finish(f"t{write}", FACTS)

    with pytest.raises(TransientStoreError, match="others changed it before each of 12"):
        book(InterveningStore(sound, before)).reserve(wanted("a", 100))
    assert theirs.read().entry_of("a") is None


def test_a_ledger_that_went_away_or_back_is_noticed(stand: Stand) -> None:
    ours = book(stand.store)
    ours.reserve(wanted("a"))
    with pytest.raises(LedgerLost, match="has revision 1, and had revision 2"):
        ours.reserve(wanted("b"), at_least=2)
    stand.door.delete(KEY)
    with pytest.raises(LedgerLost, match="is gone, and had revision 1"):
        ours.reserve(wanted("b"), at_least=1)
    assert stand.direct.head(KEY) is None


def test_a_foreign_ledger_is_never_adopted(make_stand: Callable[[str], Stand]) -> None:
    stand = make_stand("local")
    stand.door.write(KEY, b'{"slots": 3}')
    with pytest.raises(ForeignObject, match=r"ledger/daily\.json"):
        book(stand.store).reserve(wanted("a"))
    assert stand.door.read(KEY) == b'{"slots": 3}'
    stand.door.write(KEY, b" " * ((1 << 20) + 1))
    with pytest.raises(ForeignObject, match="bytes"):
        book(stand.store).read()


@pytest.mark.parametrize("name", ["", "A", "a/b", "../a", "a" * 65, ".a", "a b"])
def test_a_name_that_is_none(name: str, make_stand: Callable[[str], Stand]) -> None:
    with pytest.raises(InputError, match="ledger's name"):
        open_book(make_stand("local").store, name)


def test_times_are_kept_in_whole_seconds_of_utc(make_stand: Callable[[str], Stand]) -> None:
    store = make_stand("local").store
    odd = NOON + timedelta(microseconds=123)
    ours = open_book(store, NAME, now=lambda: odd, effects=FakeTime().effects())
    ours.reserve(wanted("a"))
    assert ours.read().reservations[0].since == NOON
