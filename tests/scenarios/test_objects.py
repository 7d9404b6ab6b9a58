"""Scenarios 1 to 7 and 9: single objects and composed ones, through the commit procedure."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from scenemosaic.committing.commit import (
    Committed,
    Outcome,
    RetryPolicy,
    commit_composed,
    commit_object,
)
from scenemosaic.errors import IncompleteError
from scenemosaic.stores.port import Body, Condition, IfAbsent, IfMatch, ObjectInfo, Segment, Store
from scenemosaic.waiting.retry import Effects
from tests.faults.effects import FakeTime
from tests.manifests.support import until_settled
from tests.scenarios.stands import Act, Stand
from tests.stores.conformance import KEY, MOSAIC, body, create, large
from tests.stores.doors import Harness

POLICY = RetryPolicy(attempts=12)
OURS, THEIRS = body(b"ours", "run-1/0000_0001"), body(b"theirs", "run-2/0000_0001")
COUNTER = "ledger/count.json"


def commit(
    store: Store,
    wanted: Body = OURS,
    condition: Condition | None = None,
    key: str = KEY,
    effects: Effects | None = None,
) -> Committed:
    effects = effects or FakeTime().effects()
    return commit_object(store, key, wanted, condition or IfAbsent(), POLICY, effects)


def compose(store: Store, segments: list[Segment], run: str = "run-1") -> Committed:
    metadata = {"digest": run, "write_id": f"{run}/mosaic", "job_id": "0123"}
    effects = FakeTime().effects()
    return commit_composed(
        store, MOSAIC, segments, IfAbsent(), "image/tiff", metadata, POLICY, effects
    )


def parts_of(stand: Stand) -> tuple[list[Segment], bytes]:
    """Segments that need more than one request, and their bytes."""
    return large(Harness(stand.direct, stand.door, stand.versioned))


def at_the_pause(act: Act) -> Effects:
    """Something happens while the procedure waits before its next attempt."""
    time, left = FakeTime(), [act]

    def sleep(pause_s: float) -> None:
        time.now_s += pause_s
        if left:
            left.pop()()

    return Effects(lambda: time.now_s, sleep, lambda: 1.0)


def stands(stand: Stand, data: bytes, key: str = KEY) -> None:
    """Exactly one version, and no upload left open."""
    assert stand.door.read(key) == data
    assert stand.door.versions(key) == 1
    assert stand.door.open_uploads() == 0


def stored(stand: Stand, key: str = KEY) -> ObjectInfo:
    info = stand.direct.head(key)
    assert info is not None
    return info


def test_scenario_01_a_put_landed_and_its_reply_was_lost(stand: Stand) -> None:
    stand.faults.lose_reply()
    done = commit(stand.store)
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["own_write_recovered"] == done.counters["ambiguous"] == 1
    assert done.info == stored(stand)
    stands(stand, b"ours")


def test_scenario_02_a_409_with_the_key_absent(with_409: Stand) -> None:
    with_409.faults.conflict()
    done = commit(with_409.store)
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["conflict_409_retried"] == 1
    stands(with_409, b"ours")


def test_scenario_02_a_409_to_a_completion_takes_a_new_upload(with_multipart: Stand) -> None:
    segments, expected = parts_of(with_multipart)
    with_multipart.faults.conflict(completion=True)
    done = compose(with_multipart.store, segments)
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["conflict_409_retried"] == 1
    stands(with_multipart, expected, MOSAIC)


def test_scenario_03_a_delayed_first_request_lands_before_the_second(stand: Stand) -> None:
    stand.faults.hold()

    def absent_and_then_there() -> None:
        assert stand.direct.head(KEY) is None
        stand.faults.release()
        assert stored(stand).metadata["write_id"] == "run-1/0000_0001"

    done = commit(stand.store, effects=at_the_pause(absent_and_then_there))
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["own_write_recovered"] == 1
    stands(stand, b"ours")


def test_scenario_03_a_delayed_first_request_lands_after_the_second(stand: Stand) -> None:
    stand.faults.hold()
    done = commit(stand.store)
    assert done.outcome is Outcome.WRITTEN
    first = stored(stand)
    stand.faults.release()
    assert stored(stand) == first
    stands(stand, b"ours")


def test_scenario_03_a_delayed_completion(with_multipart: Stand) -> None:
    """The held Complete names an upload that was aborted, or meets the object that stands."""
    segments, expected = parts_of(with_multipart)
    with_multipart.faults.hold(completion=True)
    done = compose(with_multipart.store, segments)
    assert done.outcome is Outcome.WRITTEN
    with_multipart.faults.release()
    assert with_multipart.proxy is not None
    held = [seen for seen in with_multipart.proxy.requests if seen.fault is not None]
    assert [seen.status for seen in held] in ([404], [412])
    stands(with_multipart, expected, MOSAIC)


def test_scenario_04_a_completion_landed_and_its_reply_was_lost(stand: Stand) -> None:
    segments, expected = parts_of(stand)
    stand.faults.lose_reply(completion=True)
    done = compose(stand.store, segments)
    assert done.outcome is Outcome.WRITTEN
    # A session of Cloud Storage is asked what became of it, and says so itself.
    assert done.counters["own_write_recovered"] == (stand.name != "gcs")
    assert done.info == stored(stand, MOSAIC)
    stands(stand, expected, MOSAIC)


def test_scenario_05_a_refused_completion_leaves_no_upload(stand: Stand) -> None:
    segments, expected = parts_of(stand)
    assert compose(stand.direct, segments, "run-2").outcome is Outcome.WRITTEN
    done = compose(stand.store, [*segments, *segments])
    assert done.outcome is Outcome.ALREADY_PRESENT
    assert done.stored.metadata["write_id"] == "run-2/mosaic"
    stands(stand, expected, MOSAIC)


def test_scenario_06_a_single_put_lands_during_an_upload(stand: Stand) -> None:
    segments, expected = parts_of(stand)
    if stand.name == "azure":
        # azurite refuses a single create where blocks are staged, though nothing stands there.
        stand.faults.before(lambda: compose(stand.direct, segments, "run-2"))
    else:
        stand.faults.before(lambda: commit(stand.direct, THEIRS, key=MOSAIC))
        expected = b"theirs"
    done = compose(stand.store, segments)
    assert done.outcome is Outcome.ALREADY_PRESENT
    assert done.info == stored(stand, MOSAIC)
    assert done.stored.metadata["write_id"].startswith("run-2/")
    stands(stand, expected, MOSAIC)


def test_scenario_07_what_was_deleted_is_made_again_and_if_match_finds_nothing(
    stand: Stand,
) -> None:
    first = commit(stand.store).stored
    stand.door.delete(KEY)
    assert commit(stand.store, THEIRS, IfMatch(first.etag)).outcome is Outcome.TARGET_GONE
    assert stand.direct.head(KEY) is None
    again = commit(stand.store, THEIRS)
    assert again.outcome is Outcome.WRITTEN
    assert stand.door.read(KEY) == b"theirs"
    assert stand.door.versions(KEY) == (2 if stand.versioned else 1)
    assert commit(stand.store, OURS, IfMatch(first.etag)).outcome is Outcome.SUPERSEDED


@pytest.mark.parametrize("release_after", ["before", "after"])
def test_scenario_09_compare_and_swap_with_a_delayed_request(
    stand: Stand, release_after: str
) -> None:
    first = create(stand.direct, b"0", COUNTER)
    stand.faults.hold()
    wanted, swap = body(b"1", "run-1/change-1"), IfMatch(first.etag)
    pausing = at_the_pause(stand.faults.release) if release_after == "before" else None
    done = commit(stand.store, wanted, swap, COUNTER, pausing)
    stand.faults.release()
    assert done.outcome is Outcome.WRITTEN
    assert stand.door.read(COUNTER) == b"1"
    assert stand.door.versions(COUNTER) == (2 if stand.versioned else 1)


def test_scenario_09_an_ambiguous_change_that_another_superseded_is_not_taken_for_done(
    stand: Stand,
) -> None:
    """The change landed, but somebody else's stands: nothing proves ours, so it is superseded."""
    first = create(stand.direct, b"0", COUNTER)
    stand.faults.lose_reply()

    def supersede() -> None:
        now = IfMatch(stored(stand, COUNTER).etag)
        commit(stand.direct, body(b"2", "run-2/change-1"), now, COUNTER)

    changed = body(b"1", "run-1/change-1")
    done = commit(stand.store, changed, IfMatch(first.etag), COUNTER, at_the_pause(supersede))
    assert done.outcome is Outcome.SUPERSEDED
    assert stand.door.read(COUNTER) == b"2"


def test_scenario_09_a_counter_under_contention_with_every_fifth_reply_lost(stand: Stand) -> None:
    commit(stand.direct, body(b"0", "start"), key=COUNTER)
    stand.faults.lose_many(0.2, seed=9)
    with ThreadPoolExecutor(5) as pool:
        hidden = sum(pool.map(lambda worker: _ten_increments(stand.store, worker), range(5)))
    assert 50 <= int(stand.door.read(COUNTER)) <= 50 + hidden


def _ten_increments(store: Store, worker: int) -> int:
    """How many more may have landed: their replies were lost, and another change stands there."""
    written = hidden = 0
    while written < 10:
        etag, count = until_settled(lambda: _count(store))
        new = body(str(count + 1).encode(), f"{worker}/{written}/{hidden}/{etag}")
        done = commit(store, new, IfMatch(etag), COUNTER)
        written += done.outcome is Outcome.WRITTEN
        hidden += done.outcome is Outcome.SUPERSEDED and done.counters["ambiguous"] > 0
    return hidden


def _count(store: Store) -> tuple[str, int]:
    while True:
        info = store.head(COUNTER)
        assert info is not None
        try:
            return info.etag, int(store.get(COUNTER, etag=info.etag))
        except IncompleteError:
            continue  # Replaced between the two reads: read again.
