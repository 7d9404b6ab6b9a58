"""The commit procedure on a real store, with faults as wrappers."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from scenemosaic.committing.commit import (
    COUNTERS,
    Committed,
    Outcome,
    Refusal,
    RetryPolicy,
    commit_composed,
    commit_object,
)
from scenemosaic.committing.witness import witnessed
from scenemosaic.errors import ForeignObject, PermanentStoreError, TransientStoreError
from scenemosaic.stores import open_store
from scenemosaic.stores.port import (
    Answer,
    Body,
    Condition,
    IfAbsent,
    IfMatch,
    Literal,
    ObjectInfo,
    Store,
    WriteResult,
)
from tests.faults.effects import FakeTime
from tests.faults.stores import (
    DelayedStore,
    FailingHeadStore,
    InterveningStore,
    LostReplyStore,
    RacingStore,
    Wrapper,
)
from tests.stores.conformance import KEY, MOSAIC, body

POLICY = RetryPolicy(attempts=5, base_s=1.0, cap_s=4.0, deadline_s=100.0)
OURS = body(b"ours", "run-1/0000_0001")
THEIRS = body(b"theirs", "run-2/0000_0001")
METADATA = {"digest": "d", "write_id": "run-1/mosaic", "job_id": "0123"}


@pytest.fixture
def inner(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "root"))


def commit(
    store: Store,
    wanted: Body = OURS,
    condition: Condition | None = None,
    time: FakeTime | None = None,
) -> Committed:
    effects = (time or FakeTime()).effects()
    return commit_object(store, KEY, wanted, condition or IfAbsent(), POLICY, effects)


def compose(store: Store, condition: Condition | None = None) -> Committed:
    return commit_composed(
        store,
        MOSAIC,
        [Literal(b"mosaic")],
        condition or IfAbsent(),
        "image/tiff",
        METADATA,
        POLICY,
        FakeTime().effects(),
    )


def counted(**counters: int) -> dict[str, int]:
    return dict.fromkeys(COUNTERS, 0) | counters


def etag_of(store: Store, key: str = KEY) -> str:
    info = store.head(key)
    assert info is not None
    return info.etag


def test_a_create_is_one_request(inner: Store) -> None:
    store, time = Wrapper(inner), FakeTime()
    done = commit(store, time=time)
    assert (done.outcome, done.info, done.counters) == (
        Outcome.WRITTEN,
        inner.head(KEY),
        counted(),
    )
    assert (store.writes, store.heads, time.sleeps) == (1, 0, [])


def test_a_refusal_is_an_outcome_that_describes_the_winner(
    inner: Store, caplog: pytest.LogCaptureFixture
) -> None:
    commit(inner, THEIRS)
    store, time = Wrapper(inner), FakeTime()
    with caplog.at_level(logging.INFO, "scenemosaic.committing.commit"):
        done = commit(store, time=time)
    assert done.outcome is Outcome.ALREADY_PRESENT
    assert done.info == inner.head(KEY)
    assert done.counters == counted(refused=1)
    assert (store.writes, store.heads, time.sleeps) == (1, 1, [])
    assert caplog.messages == [f"already-present: job 0123 key {KEY}"]


def test_scenario_1_a_lost_reply_is_resolved_by_reading_back(inner: Store) -> None:
    store = LostReplyStore(inner)
    done = commit(store)
    assert (done.outcome, done.info) == (Outcome.WRITTEN, inner.head(KEY))
    assert done.counters == counted(ambiguous=1, refused=1, own_write_recovered=1)
    assert store.writes == 2


def test_a_lost_request_is_sent_again(inner: Store) -> None:
    store = LostReplyStore(inner, lost=2, lands=False)
    done = commit(store)
    assert (done.outcome, done.counters) == (Outcome.WRITTEN, counted(ambiguous=2))
    assert store.writes == 3


def test_after_an_ambiguous_attempt_somebody_elses_object_is_not_taken_for_ours(
    inner: Store,
) -> None:
    commit(inner, THEIRS)
    done = commit(LostReplyStore(inner, lands=False))
    assert done.outcome is Outcome.ALREADY_PRESENT
    assert done.counters == counted(ambiguous=1, refused=1)


def test_a_retried_task_knows_its_own_put(inner: Store) -> None:
    commit(inner)
    done = commit(inner)
    assert done.outcome is Outcome.WRITTEN
    assert done.counters == counted(refused=1, own_write_recovered=1)


def test_every_reply_lost_is_settled_by_a_last_look(inner: Store) -> None:
    store = LostReplyStore(inner, lost=99)
    done = commit(store)
    assert done.outcome is Outcome.WRITTEN
    assert done.counters == counted(ambiguous=POLICY.attempts, own_write_recovered=1)


def test_absence_after_time_outs_is_unknown_and_never_a_success(inner: Store) -> None:
    store = LostReplyStore(inner, lost=99, lands=False)
    with pytest.raises(TransientStoreError, match=rf"{KEY}.*not known.*reply lost") as caught:
        commit(store)
    assert caught.value.retryable
    assert store.writes == POLICY.attempts


@pytest.mark.parametrize("conflicts", [1, 3])
def test_scenario_2_a_409_is_sent_again_and_is_no_success(inner: Store, conflicts: int) -> None:
    store, time = RacingStore(inner, conflicts), FakeTime()
    done = commit(store, time=time)
    assert (done.outcome, done.counters) == (
        Outcome.WRITTEN,
        counted(conflict_409_retried=conflicts),
    )
    assert time.sleeps == [1.0, 2.0, 4.0][:conflicts]


def test_scenario_2_a_409_for_ever_is_unknown(inner: Store) -> None:
    store = RacingStore(inner, 99)
    with pytest.raises(TransientStoreError, match="racing"):
        commit(store)
    assert inner.head(KEY) is None
    assert store.writes == POLICY.attempts


def test_scenario_2_a_409_with_another_winner_is_already_present(inner: Store) -> None:
    commit(inner, THEIRS)
    done = commit(RacingStore(inner, 1))
    assert done.outcome is Outcome.ALREADY_PRESENT
    assert done.counters == counted(conflict_409_retried=1, refused=1)


def test_scenario_2_a_409_on_a_completion_composes_anew(inner: Store) -> None:
    store = RacingStore(inner, 2)
    done = compose(store)
    assert (done.outcome, store.writes) == (Outcome.WRITTEN, 3)
    assert done.counters == counted(conflict_409_retried=2)


def test_scenario_3_a_delayed_first_request_lands_after_the_time_out(inner: Store) -> None:
    done = commit(DelayedStore(inner))
    assert done.outcome is Outcome.WRITTEN
    assert done.counters == counted(ambiguous=1, refused=1, own_write_recovered=1)


def test_scenario_3_for_a_composition(inner: Store) -> None:
    done = compose(DelayedStore(inner))
    assert done.outcome is Outcome.WRITTEN
    assert done.counters == counted(ambiguous=1, refused=1, own_write_recovered=1)


def test_scenario_4_a_lost_completion_is_read_back_and_not_composed_again(inner: Store) -> None:
    store = LostReplyStore(inner)
    done = compose(store)
    assert (done.outcome, done.info) == (Outcome.WRITTEN, inner.head(MOSAIC))
    assert done.counters == counted(ambiguous=1, own_write_recovered=1)
    assert store.writes == 1


def test_scenario_4_a_completion_that_did_not_land_is_composed_again(inner: Store) -> None:
    store = LostReplyStore(inner, lands=False)
    done = compose(store)
    assert (done.outcome, done.counters) == (Outcome.WRITTEN, counted(ambiguous=1))
    assert store.writes == 2


def test_scenario_5_a_refused_completion_is_an_outcome(inner: Store) -> None:
    compose(inner)
    theirs = METADATA | {"write_id": "run-2/mosaic"}
    effects = FakeTime().effects()
    done = commit_composed(
        inner, MOSAIC, [Literal(b"x")], IfAbsent(), "image/tiff", theirs, POLICY, effects
    )
    assert (done.outcome, done.counters) == (Outcome.ALREADY_PRESENT, counted(refused=1))
    assert inner.get(MOSAIC) == b"mosaic"


@pytest.mark.parametrize("metadata", [{}, {"sha256": "0"}, {"write_id": "w"}])
def test_an_object_that_is_not_ours_is_a_conflict(inner: Store, metadata: dict[str, str]) -> None:
    inner.put(KEY, Body(b"x", "0" * 64, "image/tiff", metadata), IfAbsent())
    with pytest.raises(ForeignObject, match=KEY) as caught:
        commit(inner)
    assert caught.value.exit_code == 4


def test_an_object_of_another_job_is_a_conflict(inner: Store) -> None:
    other = dict(OURS.metadata) | {"job_id": "9999", "write_id": "run-9/0"}
    inner.put(KEY, Body(b"x", "0" * 64, "image/tiff", other), IfAbsent())
    with pytest.raises(ForeignObject):
        commit(inner)


def test_a_winner_that_is_deleted_at_once_is_no_winner(inner: Store, tmp_path: Path) -> None:
    path = tmp_path / "root" / KEY

    class Vanishing(Wrapper):
        def head(self, key: str) -> None:
            self.heads += 1
            path.unlink()

    commit(inner, THEIRS)
    store = Vanishing(inner)
    done = commit(store)
    assert (done.outcome, store.writes) == (Outcome.WRITTEN, 2)
    assert done.counters == counted(refused=1)


def test_a_read_back_is_retried(inner: Store) -> None:
    commit(inner, THEIRS)
    done = commit(FailingHeadStore(inner, failures=3))
    assert (done.outcome, done.counters) == (Outcome.ALREADY_PRESENT, counted(refused=1))


def test_a_read_back_that_fails_is_inconclusive_and_the_write_is_not_repeated(
    inner: Store,
) -> None:
    commit(inner, THEIRS)
    store = FailingHeadStore(inner, failures=99)
    with pytest.raises(TransientStoreError, match="HeadObject"):
        commit(store)
    assert store.writes == 1


def test_scenario_12_a_forbidden_read_back_is_permanent_and_never_absent(inner: Store) -> None:
    commit(inner, THEIRS)
    store = FailingHeadStore(inner, failures=0, permanent=True)
    with pytest.raises(PermanentStoreError, match="403"):
        commit(store)
    assert (store.writes, store.heads) == (1, 1)


def test_a_permanent_error_is_raised_at_once(inner: Store) -> None:
    def deny(_: int) -> None:
        raise PermanentStoreError("PutObject: 403")

    store, time = InterveningStore(inner, deny), FakeTime()
    with pytest.raises(PermanentStoreError):
        commit(store, time=time)
    assert (store.writes, time.sleeps) == (1, [])


def test_if_match_writes_over_its_target(inner: Store) -> None:
    first = commit(inner, THEIRS)
    assert first.info is not None
    done = commit(inner, OURS, IfMatch(first.info.etag))
    assert (done.outcome, done.counters) == (Outcome.WRITTEN, counted())
    assert inner.get(KEY) == b"ours"


def test_if_match_is_superseded(inner: Store) -> None:
    commit(inner, THEIRS)
    stale = etag_of(inner)
    commit(inner, body(b"newer", "run-3/x"), IfMatch(stale))
    done = commit(inner, OURS, IfMatch(stale))
    assert (done.outcome, done.info) == (Outcome.SUPERSEDED, inner.head(KEY))
    assert done.counters == counted(refused=1)


def test_scenario_7_the_target_of_if_match_is_gone(
    inner: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "scenemosaic.committing.commit"):
        done = commit(inner, OURS, IfMatch('"1-x"'))
    assert (done.outcome, done.info) == (Outcome.TARGET_GONE, None)
    assert caplog.messages == [f"target gone: job 0123 key {KEY}"]


@pytest.mark.parametrize("lands", [True, False])
def test_scenario_9_compare_and_swap_with_a_lost_reply(inner: Store, lands: bool) -> None:
    commit(inner, THEIRS)
    done = commit(LostReplyStore(inner, lands=lands), OURS, IfMatch(etag_of(inner)))
    assert (done.outcome, done.info) == (Outcome.WRITTEN, inner.head(KEY))
    assert done.counters["own_write_recovered"] == lands


def test_an_earlier_change_of_ours_is_not_taken_for_this_one(inner: Store) -> None:
    commit(inner, THEIRS)
    stale = etag_of(inner)
    commit(inner, OURS, IfMatch(stale))
    assert commit(inner, OURS, IfMatch(stale)).outcome is Outcome.SUPERSEDED


@pytest.mark.parametrize("lands", [True, False])
def test_if_match_composes_after_a_lost_reply(inner: Store, lands: bool) -> None:
    inner.put(MOSAIC, THEIRS, IfAbsent())
    store = LostReplyStore(inner, lands=lands)
    done = compose(store, IfMatch(etag_of(inner, MOSAIC)))
    assert (done.outcome, inner.get(MOSAIC)) == (Outcome.WRITTEN, b"mosaic")
    assert store.writes == (1 if lands else 2)


def test_a_create_answered_with_404_is_permanent(inner: Store) -> None:
    class Odd(Wrapper):
        def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
            return WriteResult(Answer.GONE)

    with pytest.raises(PermanentStoreError, match="404"):
        commit(Odd(inner))


def test_retry_after_is_honoured(inner: Store) -> None:
    time = FakeTime()
    commit(LostReplyStore(inner, lost=2, lands=False, retry_after_s=30.0), time=time)
    assert time.sleeps == [30.0, 30.0]


def test_no_pause_goes_beyond_the_deadline(inner: Store) -> None:
    time = FakeTime()
    store = LostReplyStore(inner, lost=9, lands=False, retry_after_s=60.0)
    with pytest.raises(TransientStoreError):
        commit(store, time=time)
    assert time.sleeps == [60.0]
    assert store.writes == 2


def test_eight_writers_one_winner(inner: Store) -> None:
    outcomes = [commit(inner, body(b"%d" % n, f"run-{n}/w")).outcome for n in range(8)]
    assert outcomes == [Outcome.WRITTEN] + [Outcome.ALREADY_PRESENT] * 7


def test_a_refusal_holds_both_checksums_and_what_stands(inner: Store) -> None:
    class WithRequestId(Wrapper):
        def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
            return replace(self.inner.put(key, body, condition), request_id="R1")

    commit(inner, THEIRS)
    stands = inner.head(KEY)
    assert stands is not None
    (refusal,) = commit(WithRequestId(inner)).refusals
    assert refusal == Refusal(
        key=KEY,
        condition="create",
        request_id="R1",
        ours_sha256=OURS.metadata["sha256"],
        theirs_sha256=THEIRS.metadata["sha256"],
        theirs_etag=stands.etag,
        theirs_version_id=stands.version_id,
        at=refusal.at,
    )
    assert refusal.at.endswith("Z")


def test_every_refused_attempt_is_kept_also_what_was_gone_again(inner: Store) -> None:
    commit(inner, THEIRS)

    class BlindOnce(Wrapper):
        def head(self, key: str) -> ObjectInfo | None:
            self.heads += 1
            return None if self.heads == 1 else self.inner.head(key)

    done = commit(BlindOnce(inner))
    assert done.counters["refused"] == len(done.refusals) == 2
    assert [one.theirs_sha256 for one in done.refusals] == [None, THEIRS.metadata["sha256"]]


def test_a_refusal_by_our_own_write_is_marked(inner: Store) -> None:
    (refusal,) = commit(LostReplyStore(inner)).refusals
    assert refusal.own
    assert refusal.theirs_sha256 == refusal.ours_sha256


def test_a_target_that_is_gone_is_a_refusal_with_nothing_of_theirs(inner: Store) -> None:
    (refusal,) = commit(inner, OURS, IfMatch('"1-x"')).refusals
    assert (refusal.condition, refusal.theirs_etag) == ("replace", None)


def test_a_composed_objects_digest_stands_for_its_checksum(inner: Store) -> None:
    compose(inner)
    theirs = METADATA | {"write_id": "run-2/mosaic", "digest": "e"}
    effects = FakeTime().effects()
    (refusal,) = commit_composed(
        inner, MOSAIC, [Literal(b"x")], IfAbsent(), "image/tiff", theirs, POLICY, effects
    ).refusals
    assert (refusal.ours_sha256, refusal.theirs_sha256) == ("e", "d")


class Watcher:
    def __init__(self) -> None:
        self.told: list[object] = []

    def before(self, key: str, condition: Condition) -> None:
        self.told.append(key)

    def after(self, done: Committed, condition: Condition) -> Committed:
        self.told.append(done.outcome)
        return replace(done, counters={**done.counters, "seen": 1})

    def failed(self, refusals: Sequence[Refusal]) -> None:
        self.told.append(len(refusals))


def watched(store: Store, watcher: Watcher) -> Committed:
    effects = witnessed(FakeTime().effects(), watcher)
    return commit_object(store, KEY, OURS, IfAbsent(), POLICY, effects)


def test_a_witness_is_told_before_and_after(inner: Store) -> None:
    watcher = Watcher()
    assert watched(inner, watcher).counters["seen"] == 1
    assert watcher.told == [KEY, Outcome.WRITTEN]


def test_a_witness_is_told_of_the_refusals_of_a_commit_that_fails(inner: Store) -> None:
    inner.put(KEY, Body(b"x", "0" * 64, "image/tiff", {}), IfAbsent())
    watcher = Watcher()
    with pytest.raises(ForeignObject):
        watched(inner, watcher)
    assert watcher.told == [KEY, 1]


def test_a_witness_can_keep_a_commit_from_being_tried(inner: Store) -> None:
    class Strict(Watcher):
        def before(self, key: str, condition: Condition) -> None:
            raise PermanentStoreError("no")

    store = Wrapper(inner)
    with pytest.raises(PermanentStoreError):
        watched(store, Strict())
    assert (store.writes, store.heads) == (0, 0)
