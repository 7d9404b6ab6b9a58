"""A schedule's cursor in a store: kept by compare-and-swap, whoever else moves it."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from scenemosaic import keys
from scenemosaic.discovery.cursor import Cursor
from scenemosaic.discovery.found import Found
from scenemosaic.discovery.schedule import open_schedule
from scenemosaic.errors import Contended, InputError
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Store
from scenemosaic.waiting.retry import Effects, RetryPolicy
from tests.faults.stores import InterveningStore, LostReplyStore

WORKERS, ROUNDS = 5, 10
WHEN = "2024-05-01T00:00:00Z"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path))


def one(name: str) -> Found:
    return Found(f"s3://b/{name}", "v1", WHEN)


def test_many_at_once_lose_nothing(store: Store) -> None:
    def work(worker: int) -> None:
        schedule = open_schedule(store, "x")
        for number in range(ROUNDS):
            schedule.advance([one(f"{worker}-{number}")], [], f"run-{worker}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(open_schedule(store, "x").read().seen) == WORKERS * ROUNDS


def test_what_is_known_is_not_written_again(store: Store) -> None:
    schedule = open_schedule(store, "x")
    schedule.advance([one("a")], [], "run")
    first = store.head(keys.ingest_key("x"))
    schedule.advance([one("a")], [], "run")
    assert store.head(keys.ingest_key("x")) == first


def test_a_lost_reply_is_no_second_change(store: Store) -> None:
    schedule = open_schedule(LostReplyStore(store), "x", effects=quick())
    schedule.advance([one("a")], [], "run")
    assert set(open_schedule(store, "x").read().seen) == {"s3://b/a"}


def test_others_that_are_always_first_are_a_conflict_of_its_own(store: Store) -> None:
    other = open_schedule(store, "x")

    def intervene(number: int) -> None:
        other.advance([one(f"other-{number}")], [], "other")

    schedule = open_schedule(
        InterveningStore(store, intervene), "x", RetryPolicy(attempts=4), quick()
    )
    with pytest.raises(Contended, match=r"ingest-x\.json"):
        schedule.advance([one("a")], [], "run")
    assert "s3://b/a" not in other.read().seen


def quick(now: str = WHEN) -> Effects:
    return Effects(lambda: 0.0, lambda seconds: None, lambda: 0.0, lambda: now)


def test_one_scene_of_a_wrong_year_hides_no_other(store: Store) -> None:
    schedule = open_schedule(store, "x", effects=quick())
    schedule.advance([replace(one("typo"), seen_at="2099-05-01T00:00:00Z")], [], "run")
    assert schedule.read().fresh([one("a")]) == [one("a")]


def test_a_cursor_of_a_clock_that_ran_ahead_goes_back_and_says_so(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    late = replace(one("late"), seen_at="2099-05-01T00:00:00Z")
    ahead = open_schedule(store, "x", effects=quick("2099-05-02T00:00:00Z"))
    ahead.advance([one("a")], [], "run")
    ahead.advance([late], [], "run")
    assert ahead.read().fresh([one("b")]) == []
    schedule = open_schedule(store, "x", effects=quick())
    assert schedule.read().fresh([one("b"), late]) == [one("b")]
    assert "ahead of this machine's clock" in caplog.text
    schedule.advance([one("b")], [], "run")
    caplog.clear()
    assert schedule.read().fresh([one("b"), late]) == []
    assert not caplog.text


def test_there_is_none_at_first_and_a_ledger_is_none(store: Store) -> None:
    assert open_schedule(store, "x").read() == Cursor()
    with pytest.raises(InputError, match="ledger's name"):
        open_schedule(store, "a/b")
