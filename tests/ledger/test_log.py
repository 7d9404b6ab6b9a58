"""A ledger's own audit log: every refused change of it, and of what is published under it."""

import hashlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from flows.terminal.console import Console
from flows.verbs import ledger as cli_ledger
from scenemosaic import keys
from scenemosaic.auditing import audit
from scenemosaic.auditing.audit import Entry
from scenemosaic.committing.mutable import Mutable
from scenemosaic.discovery.found import Found
from scenemosaic.discovery.schedule import open_schedule
from scenemosaic.errors import Contended, InputError, TransientStoreError
from scenemosaic.job import JobSpec, open_session
from scenemosaic.ledger.book import Wanted, open_book
from scenemosaic.ledger.log import recorded
from scenemosaic.ledger.rules import Ended
from scenemosaic.ledger.state import Cleared
from scenemosaic.places import StorePlace
from scenemosaic.publishing import publication
from scenemosaic.session import Run
from scenemosaic.store_session import StoreSession
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Condition, Store, WriteResult
from scenemosaic.waiting.retry import RetryPolicy
from tests.faults.effects import FakeTime
from tests.faults.stores import InterveningStore, Wrapper
from tests.jobs.places import MakePlace, Place, client
from tests.ledger.jobs import finished

LEDGER = "daily"
JOB = "0123456789abcdef" * 2
WRITERS, CHANGES = 4, 3
ADA = Run("ada-1", "ada-1", "ada")


@pytest.fixture
def store(place: Place) -> Store:
    return open_store(place.root)


@pytest.fixture
def local_store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "root"))


def entries(store: Store, name: str = LEDGER, event: str = "refused") -> list[Entry]:
    found = audit.read(StoreSession(store), keys.ledger_log(name))
    return [entry for entry in found if entry.record.event == event]


def one(name: str) -> Found:
    return Found(f"s3://b/{name}", "v1", "2024-05-01T00:00:00Z")


def test_a_race_leaves_as_many_records_as_refusals_were_counted(store: Store, place: Place) -> None:
    """All have read the same before one of them writes: at least all but one are refused."""
    start, offered = threading.Barrier(WRITERS), set[str]()

    def work(number: int) -> int:
        run, refused = Run(f"run-{number}", "", f"operator-{number}"), 0
        waiting = [True]

        def decide(data: bytes | None, write_id: str) -> tuple[bytes | None, None]:
            while waiting:
                waiting.pop()
                start.wait(60)
            made = (data or b"") + write_id.encode() + b"\n"
            offered.add(hashlib.sha256(made).hexdigest())
            return made, None

        with recorded(StoreSession(store), LEDGER, run) as session:
            mutable = Mutable(store, keys.ledger_key(LEDGER), effects=session.effects)
            for _ in range(CHANGES):
                refused += mutable.change(decide, run.run_id).counters["refused"]
        return refused

    with ThreadPoolExecutor(WRITERS) as pool:
        counted = list(pool.map(work, range(WRITERS)))
    found = entries(store)
    by = [sum(one.operator == f"operator-{number}" for one in found) for number in range(WRITERS)]
    assert by == counted
    assert len(found) >= WRITERS - 1
    for entry in found:
        details = entry.record.details
        assert entry.record.key == keys.ledger_key(LEDGER)
        assert entry.run_id == entry.operator.replace("operator", "run")
        assert {details["ours_sha256"], details["theirs_sha256"]} <= offered
        assert details["ours_sha256"] != details["theirs_sha256"]
        assert details["own"] is False
        assert bool(details["request_id"]) is place.root.startswith("s3:")
    assert {entry.record.details["condition"] for entry in found} >= {"create"}


def test_the_log_is_written_after_the_work_and_only_where_something_was_refused(
    local_store: Store,
) -> None:
    other = open_schedule(local_store, "x")
    rival = InterveningStore(local_store, lambda n: other.advance([one(f"o{n}")], [], "o") and None)
    with recorded(StoreSession(local_store), keys.ingest_ledger("x"), ADA) as session:
        open_schedule(local_store, "x", effects=session.effects).advance([one("a")], [], "ada-1")
    assert list(local_store.list("audit/")) == []
    policy = RetryPolicy(attempts=3)

    def contend() -> None:
        quick = StoreSession(local_store, effects=FakeTime().effects())
        with recorded(quick, keys.ingest_ledger("x"), ADA) as session:
            schedule = open_schedule(rival, "x", policy, session.effects)
            try:
                schedule.advance([one("b")], [], "ada-1")
            finally:
                assert list(local_store.list("audit/")) == []

    with pytest.raises(Contended):
        contend()
    found = entries(local_store, keys.ingest_ledger("x"))
    assert [entry.record.key for entry in found] == [keys.ingest_key("x")] * policy.attempts
    assert {entry.batch for entry in found} == {"audit/ledger-ingest-x/00000001.jsonl"}


class Faulty(Wrapper):
    """The audit log is at fault."""

    def writing(
        self, key: str, condition: Condition, write: Callable[[Condition], WriteResult]
    ) -> WriteResult:
        if keys.audit_number(key):
            raise TransientStoreError("503")
        return write(condition)


def publish_on(
    spec: JobSpec, store: Store, monkeypatch: pytest.MonkeyPatch
) -> publication.Publication:
    session = replace(open_session(spec), store=store, effects=FakeTime().effects())
    with monkeypatch.context() as patch:
        patch.setattr(publication, "open_session", lambda spec: session)
        return publication.publish(spec, LEDGER, Wanted("run-1", spec.plan.job_id, 9, "UTC", "eve"))


class LostOnce(Wrapper):
    """The reply to the first write of one key is lost."""

    def __init__(self, inner: Store, key: str) -> None:
        super().__init__(inner)
        self._lose = {key}

    def writing(
        self, key: str, condition: Condition, write: Callable[[Condition], WriteResult]
    ) -> WriteResult:
        done = write(condition)
        if key in self._lose:
            self._lose.remove(key)
            raise TransientStoreError(f"{key}: reply lost")
        return done


@pytest.mark.parametrize("key", [keys.ledger_key(LEDGER), keys.POINTER_KEY, keys.CATALOG_KEY])
def test_whatever_is_published_is_recorded_under_its_ledger(
    local_place: MakePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    spec = finished(local_place(), tmp_path)
    store = open_session(spec).store
    done = publish_on(spec, LostOnce(store, key), monkeypatch)
    assert done.conflict is None
    assert done.counters["own_write_recovered"] == done.counters["refused"] == 1
    (entry,) = entries(store)
    assert (entry.operator, entry.run_id) == ("eve", "run-1")
    assert (entry.record.key, entry.record.details["own"]) == (key, True)
    assert list(audit.read(StoreSession(store), spec.plan.job_id)) == []


def test_a_log_at_fault_hides_no_outcome(
    local_place: MakePlace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    spec = finished(local_place(), tmp_path)
    store = open_session(spec).store
    with caplog.at_level(logging.WARNING, "scenemosaic"):
        done = publish_on(spec, Faulty(LostOnce(store, keys.POINTER_KEY)), monkeypatch)
    assert (done.conflict, done.already) == (None, False)
    assert entries(store) == []
    (said,) = [text for text in caplog.messages if text.startswith("not in the audit log")]
    assert '"operator":"eve"' in said
    assert f'"key":"{keys.POINTER_KEY}"' in said


def test_an_operator_whose_clearing_is_refused_is_named(
    local_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = open_book(local_store, LEDGER)
    book.reserve(Wanted("dead", JOB))
    other = Cleared("bob", "I was faster")

    def faster(write: int) -> None:
        if write == 1:
            assert isinstance(book.clear("dead", other).answer, Ended)

    rival = InterveningStore(local_store, faster)
    monkeypatch.setattr(cli_ledger, "open_store", lambda *given: rival)
    monkeypatch.setenv("SCENEMOSAIC_OPERATOR", "ada")
    place = StorePlace(local_store.uri)
    assert cli_ledger.clear(LEDGER, place, "dead", "gone", Console(as_json=True)) == 0
    (entry,) = entries(local_store)
    assert (entry.operator, entry.record.details["condition"]) == ("ada", "replace")
    assert book.read().history[0].end == other


def test_a_ledger_made_over_its_own_delete_marker_is_reported(
    s3_place: MakePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever deletes a ledger that published nothing yet leaves a trace all the same."""
    place = s3_place()
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    spec = finished(place, tmp_path)
    store, bucket = open_session(spec).store, place.root.removeprefix("s3://").partition("/")[0]
    book = open_book(store, LEDGER)
    book.reserve(Wanted("deleted", spec.plan.job_id))
    key = f"some/root/{keys.ledger_key(LEDGER)}"
    client(place, "s3").delete_object(Bucket=bucket, Key=key)
    done = publish_on(spec, store, monkeypatch)
    assert (done.conflict, done.counters["created_over_delete_marker"]) == (None, 1)
    (entry,) = entries(store, event="created-over-delete-marker")
    assert entry.record.key == keys.ledger_key(LEDGER)
    versions = entry.record.details["versions"]
    assert isinstance(versions, list)
    assert len(versions) == 1


@pytest.mark.parametrize("name", ["", "a/b", "..", "A", "x" * 65])
def test_a_log_of_no_ledger(name: str) -> None:
    with pytest.raises(InputError, match="ledger's name"):
        keys.ledger_log(name)


@pytest.mark.parametrize(
    ("key", "number"),
    [
        (keys.audit_key(keys.ledger_log("ingest-x.y_z"), 7), 7),
        (keys.audit_key(JOB, 7), 7),
        ("audit/ledger-/00000007.jsonl", 0),
        ("audit/ledger-a/b/00000007.jsonl", 0),
        ("audit/other/00000007.jsonl", 0),
    ],
)
def test_the_number_of_a_batch(key: str, number: int) -> None:
    assert keys.audit_number(key) == number
