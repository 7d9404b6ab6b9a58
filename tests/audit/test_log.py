"""The audit log: numbered batches, each there exactly once, whatever befalls their writers."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic import canonical, keys
from scenemosaic.auditing import audit
from scenemosaic.auditing.audit import Record
from scenemosaic.committing.commit import Refusal, RetryPolicy
from scenemosaic.errors import InputError, TransientStoreError
from scenemosaic.manifests import open_manifest
from scenemosaic.session import Run, Session
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Body, IfAbsent, Store
from tests.faults.effects import FakeTime
from tests.faults.stores import DelayedStore, LostReplyStore, RacingStore, Wrapper

JOB = "0123456789abcdef" * 2
RUN = Run("run-1", "run-1", operator="ada@host")
NOW = "2026-11-01T12:00:00Z"
WRITERS, BATCHES = 8, 5


def session_on(store: Store) -> Session:
    policy = RetryPolicy(attempts=4)
    return Session(store, open_manifest("sqlite://"), policy, FakeTime().effects(), lambda: NOW)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "root"))


def record(number: int = 0, **details: object) -> Record:
    return Record("refused", f"tiles/{JOB}/{number:04d}_0000.tif", details, NOW)


def batches(store: Store) -> list[str]:
    return [one.key for one in store.list(keys.audit_prefix(JOB))]


def test_nothing_to_record_is_no_call(store: Store) -> None:
    class Untouched(Wrapper):
        def list(self, prefix: str) -> Any:
            pytest.fail("the log was listed")

    watched = Untouched(store)
    assert audit.append(session_on(watched), JOB, RUN, []) is None
    assert (watched.writes, watched.heads) == (0, 0)


def test_a_batch_is_lines_of_canonical_json(store: Store) -> None:
    records = [record(1, ours_sha256="a"), Record("waived", "k", {"reason": "ice"})]
    key = audit.append(session_on(store), JOB, RUN, records)
    assert key == f"audit/{JOB}/00000001.jsonl"
    lines = store.get(key).split(b"\n")
    assert lines.pop() == b""
    values = [canonical.decode(line, key) for line in lines]
    assert [canonical.encode(value) for value in values] == lines
    assert values[1] == {
        "at": NOW, "operator": "ada@host", "run_id": "run-1", "event": "waived", "key": "k",
        "details": {"reason": "ice"},
    }  # fmt: skip


def test_entries_are_read_in_order(store: Store) -> None:
    session = session_on(store)
    for number in range(12):
        audit.append(session, JOB, RUN, [record(2 * number), record(2 * number + 1)])
    found = list(audit.read(session, JOB))
    assert [entry.record for entry in found] == [record(number) for number in range(24)]
    assert [keys.audit_number(entry.batch) for entry in found] == sorted([*range(1, 13)] * 2)
    assert {(entry.operator, entry.run_id) for entry in found} == {("ada@host", "run-1")}


def test_the_number_after_ninety_nine_million_is_still_read_last(store: Store) -> None:
    session = session_on(store)
    body = Body(audit.as_line(record(1), RUN, NOW), "0" * 64, "", {})
    store.put(keys.audit_key(JOB, 10**8 - 1), body, IfAbsent())
    key = audit.append(session, JOB, RUN, [record(2)])
    assert key == f"audit/{JOB}/100000000.jsonl"
    assert [entry.record for entry in audit.read(session, JOB)] == [record(1), record(2)]


def test_what_is_no_batch_is_left_alone(store: Store) -> None:
    for name in ("notes.txt", "00000007.json", "7.jsonl"):
        store.put(f"audit/{JOB}/{name}", Body(b"x", "0" * 64, "", {}), IfAbsent())
    session = session_on(store)
    assert audit.append(session, JOB, RUN, [record()]) == f"audit/{JOB}/00000001.jsonl"
    assert len(list(audit.read(session, JOB))) == 1


@pytest.mark.parametrize("line", [b"no JSON\n", b"[1]\n", b'{"at":"x"}\n'])
def test_a_damaged_batch_is_named(store: Store, line: bytes) -> None:
    key = keys.audit_key(JOB, 1)
    store.put(key, Body(line, "0" * 64, "", {}), IfAbsent())
    with pytest.raises(InputError, match=key):
        list(audit.read(session_on(store), JOB))


def race(store: Store) -> None:
    """Each writer appends its batches; all begin at once."""
    barrier, failures = threading.Barrier(WRITERS), list[BaseException]()

    def write(writer: int) -> None:
        run = Run(f"run-{writer}", "w")
        barrier.wait()
        try:
            for batch in range(BATCHES):
                audit.append(session_on(store), JOB, run, [record(batch), record(batch, more=1)])
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_eight_writers_at_once_lose_and_double_no_batch(store: Store) -> None:
    race(store)
    found = list(audit.read(session_on(store), JOB))
    assert len(batches(store)) == WRITERS * BATCHES
    for writer in range(WRITERS):
        own = [entry for entry in found if entry.run_id == f"run-{writer}"]
        assert [entry.record for entry in own] == [
            one for batch in range(BATCHES) for one in (record(batch), record(batch, more=1))
        ]


@pytest.mark.parametrize(
    "broken",
    [
        lambda store: LostReplyStore(store),
        lambda store: LostReplyStore(store, lost=3),
        lambda store: LostReplyStore(store, lands=False),
        lambda store: DelayedStore(store),
        lambda store: RacingStore(store, 2),
    ],
    ids=["lost-reply", "lost-replies", "lost-request", "delayed", "409"],
)
def test_a_lost_reply_doubles_no_batch(store: Store, broken: Callable[[Store], Store]) -> None:
    session = session_on(broken(store))
    for number in range(3):
        audit.append(session, JOB, RUN, [record(number)])
    assert [entry.record for entry in audit.read(session, JOB)] == [record(n) for n in range(3)]


def test_a_batch_that_landed_unknown_is_not_appended_again(store: Store) -> None:
    class LostSight(LostReplyStore):
        def head(self, key: str) -> Any:
            raise TransientStoreError("no reply either")

    blind, records = LostSight(store, lost=99), [Record("waived", "k", {})]
    left = audit.keep(session_on(blind), JOB, RUN, records)
    assert [one.event for one in left] == ["waived"]
    assert len(batches(store)) == 1, "it did land"
    audit.append(session_on(store), JOB, RUN, [record(7)])
    assert audit.append(session_on(store), JOB, RUN, left, repeated=True) == batches(store)[0]
    assert len(batches(store)) == 2


def test_a_batch_that_did_not_land_is_appended_later(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    broken = LostReplyStore(store, lost=99, lands=False)
    left = audit.keep(session_on(broken), JOB, RUN, [record(1)])
    assert left == (record(1),)
    assert "1 records are not in the audit log" in caplog.text
    audit.append(session_on(store), JOB, RUN, left, repeated=True)
    assert [entry.record for entry in audit.read(session_on(store), JOB)] == [record(1)]


def test_what_could_be_kept_is_not_given_back(store: Store) -> None:
    assert audit.keep(session_on(store), JOB, RUN, [record(1)]) == ()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://host/a.tif?X-Amz-Signature=SECRET", "https://host/a.tif"),
        ("https://host/a.tif#SECRET", "https://host/a.tif"),
        (
            "postgresql+psycopg://me:SECRET@host/db?sslpassword=SECRET",
            "postgresql+psycopg://host/db",
        ),
        ("read az://c/p?sig=SECRET and s3://b/k", "read az://c/p and s3://b/k"),
        ("tiles/a?b#c", "tiles/a?b#c"),
    ],
)
def test_no_secret_reaches_the_log(store: Store, text: str, kept: str) -> None:
    session = session_on(store)
    details = {"a": text, "b": [text, {"c": text}], "d": (text,)}
    audit.append(session, JOB, RUN, [Record("waived", "k", details)])
    assert b"SECRET" not in store.get(batches(store)[0])
    (entry,) = audit.read(session, JOB)
    assert entry.record.details == {"a": kept, "b": [kept, {"c": kept}], "d": [kept]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), JSON, max_size=3))
def test_a_line_stays_one_line_and_says_what_was_recorded(details: dict[str, object]) -> None:
    line = audit.as_line(Record("refused", "k\n", details), RUN, NOW)
    assert line.count(b"\n") == 1
    value = canonical.decode(line, "line")
    assert isinstance(value, dict)
    if "://" not in str(details):
        assert value["details"] == details


def test_a_refusal_becomes_a_record_with_both_checksums() -> None:
    refusal = Refusal("k", "create", "R1", "ours", "theirs", '"e"', "v", NOW)
    assert audit.of_refusal(refusal) == Record(
        "refused",
        "k",
        {
            "condition": "create", "request_id": "R1", "ours_sha256": "ours",
            "theirs_sha256": "theirs", "theirs_etag": '"e"', "theirs_version_id": "v",
            "own": False,
        },
        NOW,
    )  # fmt: skip
