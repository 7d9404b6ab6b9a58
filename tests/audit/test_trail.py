"""What runs leave in the log: each refused attempt, by whom; and a log at fault changes nothing."""

import logging
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from scenemosaic import job, keys, session, windows
from scenemosaic.auditing import audit
from scenemosaic.auditing.audit import Entry
from scenemosaic.auditing.trail import trail
from scenemosaic.committing.commit import Outcome, commit_object
from scenemosaic.committing.witness import NOBODY, witness_of
from scenemosaic.errors import Diverged, ForeignObject, PermanentStoreError, TransientStoreError
from scenemosaic.session import Run, Session
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Body, Condition, IfAbsent, IfMatch, Store, WriteResult
from tests.audit.conftest import SPEC, Opened
from tests.faults.model import job as model_job
from tests.faults.stores import LostReplyStore, Wrapper

JOB = SPEC.plan.job_id
NAMES = model_job.names()
TILES = [keys.tile_key(JOB, name) for name in NAMES]
FIRST, SECOND = Run("first", "first", "ada"), Run("second", "second", "bob")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "root"))


def whole(run: Run) -> job.MosaicResult:
    job.publish_plan(SPEC, run)
    job.commit_windows(SPEC, range(4), run)
    return job.assemble(SPEC, run)


def entries(made: Session, event: str = "refused") -> list[Entry]:
    return [entry for entry in audit.read(made, JOB) if entry.record.event == event]


class Faulty(Wrapper):
    """Writes to the audit log fail for as long as there is an ``error``."""

    error: Exception | None = None

    def writing(
        self, key: str, condition: Condition, write: Callable[[Condition], WriteResult]
    ) -> WriteResult:
        if self.error is not None and keys.audit_number(key):
            raise self.error
        return write(condition)


def test_a_run_that_nothing_is_refused_to_leaves_no_log(store: Store, opened: Opened) -> None:
    made = opened(store)
    whole(FIRST)
    assert list(audit.read(made, JOB)) == []


def test_the_loser_of_every_race_is_in_the_log_by_name(store: Store, opened: Opened) -> None:
    opened(store)
    whole(FIRST)
    made = opened(store)  # another manifest: the second run knows of no window
    mosaic = whole(SECOND)
    assert mosaic.outcome == "already-present"
    found = entries(made)
    refused = [keys.plan_key(JOB), *TILES]
    assert [entry.record.key for entry in found][:5] == refused
    assert {entry.operator for entry in found} == {"bob"}
    assert {entry.run_id for entry in found} == {"second"}
    batches = sorted({entry.batch for entry in found})
    assert [keys.audit_number(batch) for batch in batches] == [1, 2, *range(3, len(batches) + 1)]


def test_both_checksums_and_what_stands_are_recorded(store: Store, opened: Opened) -> None:
    made = opened(store)
    theirs = model_job.tiles(1)[NAMES[0]]
    facts = made.metadata(SPEC, FIRST, NAMES[0], sha256=theirs.sha256)
    store.put(TILES[0], Body(theirs.data, theirs.sha256, "image/tiff", facts), IfAbsent())
    batch = job.commit_windows(SPEC, [0], SECOND)
    assert batch.counters["diverged"] == 1
    (entry,) = entries(made)
    stands, details = store.head(TILES[0]), entry.record.details
    assert stands is not None
    assert details["ours_sha256"] == model_job.tiles(6)[NAMES[0]].sha256
    assert (details["theirs_sha256"], details["theirs_etag"]) == (theirs.sha256, stands.etag)
    assert (details["condition"], details["own"]) == ("create", False)


def test_what_ends_in_a_conflict_is_recorded_all_the_same(store: Store, opened: Opened) -> None:
    made = opened(store)
    job.commit_windows(SPEC, [0], FIRST)
    store.put(TILES[1], Body(b"x", "0" * 64, "image/tiff", {}), IfAbsent())
    made = opened(store)
    with pytest.raises(ForeignObject):
        job.commit_windows(SPEC, range(4), SECOND)
    assert [entry.record.key for entry in entries(made)] == TILES[:2]


def test_other_pixels_are_recorded(store: Store, opened: Opened) -> None:
    opened(store)
    job.commit_windows(SPEC, [0], FIRST)
    window = SPEC.plan.recipe.tiling().window(0)
    changed = model_job.pixels()[:, window.y0 : window.y1, window.x0 : window.x1] + 1
    other = model_job.encoded(changed, window, SPEC.plan.recipe)
    made = opened(store)
    with (
        mock.patch.object(windows, "make_tile", return_value=other),
        pytest.raises(Diverged),
    ):
        job.commit_windows(SPEC, [0], SECOND)
    (entry,) = entries(made)
    ours, theirs = other.sha256, model_job.tiles(6)[NAMES[0]].sha256
    assert entry.record.details["ours_sha256"] == ours
    assert entry.record.details["theirs_sha256"] == theirs


def test_a_refusal_by_our_own_object_says_so(store: Store, opened: Opened) -> None:
    made = opened(LostReplyStore(store))
    batch = job.commit_windows(SPEC, [0], FIRST)
    assert batch.counters["written"] == batch.counters["own_write_recovered"] == 1
    (entry,) = entries(made)
    details = entry.record.details
    assert details["own"] is True
    assert details["ours_sha256"] == details["theirs_sha256"]


@pytest.mark.parametrize("error", [TransientStoreError("503"), PermanentStoreError("403")])
def test_a_log_at_fault_changes_no_outcome_and_the_rest_is_appended_later(
    store: Store, opened: Opened, error: Exception
) -> None:
    opened(store)
    whole(FIRST)
    faulty = Faulty(store)
    faulty.error = error
    made = opened(faulty)
    plan = job.publish_plan(SPEC, SECOND)
    batch = job.commit_windows(SPEC, range(4), SECOND)
    mosaic = job.assemble(SPEC, SECOND)
    assert batch.counters["already_present"] == 4
    assert mosaic.outcome == "already-present"
    assert entries(made) == []
    rest = [*plan.unrecorded, *batch.unrecorded, *mosaic.trace.unrecorded]
    assert [record.key for record in rest][:5] == [keys.plan_key(JOB), *TILES]
    with pytest.raises(type(error)):
        job.record_rest(SPEC, SECOND, rest)
    faulty.error = None
    job.record_rest(SPEC, SECOND, rest)
    job.record_rest(SPEC, SECOND, rest)
    assert [entry.record for entry in entries(made)] == rest


def test_a_conflict_stays_one_where_the_log_is_at_fault_too(
    store: Store, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(TILES[0], Body(b"x", "0" * 64, "image/tiff", {}), IfAbsent())
    faulty = Faulty(store)
    faulty.error = TransientStoreError("503")
    opened(faulty)
    with caplog.at_level(logging.WARNING, "scenemosaic"), pytest.raises(ForeignObject):
        job.commit_windows(SPEC, [0], FIRST)
    (said,) = [text for text in caplog.messages if text.startswith("not in the audit log")]
    assert TILES[0] in said
    assert '"operator":"ada"' in said


def test_the_log_is_not_recorded_in_itself(store: Store, opened: Opened) -> None:
    opened(store)
    whole(FIRST)
    made = opened(store)
    with trail(made, JOB, SECOND) as found:
        assert witness_of(found.session.effects) is found
        assert witness_of(found.plain.effects) is NOBODY
        found.note("waived", TILES[0], reason="ice")
    other = trail(made, JOB, FIRST)
    with other as again:
        again.note("waived", TILES[1], reason="ice")
    assert len(list(audit.read(made, JOB))) == 2
    assert entries(made) == []


def test_a_replaced_version_counts_no_delete_marker(store: Store, opened: Opened) -> None:
    made = opened(store)

    def body(text: bytes, write_id: str) -> Body:
        facts = {"job_id": JOB, "write_id": write_id, "sha256": "1" * 64}
        return Body(text, "0" * 64, "image/tiff", facts)

    with trail(made, JOB, FIRST) as found:
        to = found.session
        put = commit_object(
            made.store, TILES[0], body(b"1", "a"), IfAbsent(), to.policy, to.effects
        )
        target = IfMatch(put.stored.etag)
        won = commit_object(made.store, TILES[0], body(b"2", "b"), target, to.policy, to.effects)
        lost = commit_object(made.store, TILES[0], body(b"3", "c"), target, to.policy, to.effects)
    assert (won.outcome, lost.outcome) == (Outcome.WRITTEN, Outcome.SUPERSEDED)
    assert found.trace.counters["written"] == 2
    assert found.trace.counters["superseded"] == 1
    assert found.trace.counters["refused"] == 1
    (entry,) = entries(made)
    assert entry.record.details["condition"] == "replace"


def test_a_finished_job_is_left_alone(store: Store, opened: Opened) -> None:
    opened(store)
    whole(FIRST)
    watched = Wrapper(store)
    made = session.open_session(SPEC)
    opened_again = Session(watched, made.manifest, made.policy, made.effects)
    with mock.patch.object(session, "open_place", return_value=opened_again):
        found = job.finished(SPEC)
    assert found is not None
    assert watched.writes == 0
    assert found.trace.unrecorded == ()
