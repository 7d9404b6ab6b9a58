"""A create over a delete marker is told, once listed for; a strict run refuses it."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scenemosaic import job, keys
from scenemosaic.auditing import audit
from scenemosaic.committing.history import former
from scenemosaic.committing.outcome import OVER_MARKER
from scenemosaic.errors import KeyHasHistory, PermanentStoreError
from scenemosaic.session import Run
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Histories, Store, Version
from tests import servers
from tests.audit.conftest import SPEC, Opened
from tests.faults.model import job as model_job
from tests.faults.proxy import Fault, Proxy, no_faults
from tests.faults.wire import Request
from tests.stores.cloud_doors import GcsDoor, gcs_bucket
from tests.stores.doors import S3Door

JOB = SPEC.plan.job_id
TILE = keys.tile_key(JOB, model_job.names()[0])
WINDOWS = range(4)
FIRST, SECOND = Run("first", "first", "ada"), Run("second", "second", "bob")
STRICT = Run("strict", "strict", strict_history=True)
MakePlace = Callable[..., tuple[Store, S3Door, Proxy]]


@pytest.fixture
def place(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePlace]:
    with Proxy(ministack, no_faults) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)

        def make(*, versioned: bool = True) -> tuple[Store, S3Door, Proxy]:
            bucket = servers.make_bucket(ministack, versioned=versioned)
            door = S3Door(servers.aws_client("s3", ministack), bucket, "p/")
            return open_store(f"s3://{bucket}/p"), door, proxy

        yield make


def whole(run: Run) -> list[Any]:
    """A whole run, each window in a batch of its own; what each part counted."""
    plan = job.publish_plan(SPEC, run)
    batches = [job.commit_windows(SPEC, [number], run) for number in WINDOWS]
    mosaic = job.assemble(SPEC, run)
    return [plan.counters, *(batch.counters for batch in batches), mosaic.trace.counters]


def looks(proxy: Proxy) -> list[Request]:
    return [seen for seen in proxy.requests if "versions" in seen.query.split("&")]


def counted(parts: list[Any], name: str) -> int:
    return sum(part.get(name, 0) for part in parts)


def test_a_fresh_job_is_silent_and_looks_once_for_each_kind_of_key(
    place: MakePlace, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    store, _, proxy = place()
    session = opened(store)
    with caplog.at_level(logging.WARNING, "scenemosaic"):
        parts = whole(FIRST)
    assert caplog.messages == []
    assert counted(parts, OVER_MARKER) == 0
    assert list(audit.read(session, JOB)) == []
    assert len(looks(proxy)) == len(("jobs", "tiles", "mosaics"))
    assert not list(store.list("audit/"))


def test_a_bucket_that_keeps_no_versions_is_not_looked_at(place: MakePlace, opened: Opened) -> None:
    store, _, proxy = place(versioned=False)
    opened(store)
    whole(FIRST)
    assert looks(proxy) == []


def test_it_is_a_warning_a_count_and_a_record_with_the_older_versions(
    place: MakePlace, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    store, door, _ = place()
    opened(store)
    whole(FIRST)
    older = store.head(TILE)
    door.delete(TILE)
    session = opened(store)
    with caplog.at_level(logging.WARNING, "scenemosaic.auditing.trail"):
        batch = job.commit_windows(SPEC, WINDOWS, SECOND)
    assert older is not None
    assert (batch.counters["written"], batch.counters["already_present"]) == (1, 3)
    assert batch.counters[OVER_MARKER] == 1
    (said,) = caplog.messages
    assert TILE in said
    assert str(older.version_id) in said
    entries = list(audit.read(session, JOB))
    assert [entry.record.event for entry in entries] == [
        "created-over-delete-marker", *["refused"] * 3
    ]  # fmt: skip
    newer, details = store.head(TILE), entries[0].record.details
    assert newer is not None
    assert details["versions"] == [older.version_id]
    assert details["version_id"] == newer.version_id
    assert isinstance(details["markers"], list)
    assert len(details["markers"]) == 1
    assert {entry.operator for entry in entries} == {"bob"}


def test_mosaic_preview_and_item_are_told_too(place: MakePlace, opened: Opened) -> None:
    store, door, _ = place()
    opened(store)
    whole(FIRST)
    for key in (keys.mosaic_key(JOB), keys.preview_key(JOB), keys.item_key(JOB)):
        door.delete(key)
    mosaic = job.assemble(SPEC, SECOND)
    assert mosaic.outcome == "written"
    assert mosaic.trace.counters[OVER_MARKER] == 3
    assert mosaic.trace.counters["written"] == 3


def test_a_strict_run_refuses_and_writes_nothing_there(place: MakePlace, opened: Opened) -> None:
    store, door, _ = place()
    opened(store)
    whole(FIRST)
    door.delete(TILE)
    session = opened(store)
    with pytest.raises(KeyHasHistory, match=rf"{TILE}.*delete marker.*restore") as caught:
        job.commit_windows(SPEC, WINDOWS, STRICT)
    assert (caught.value.exit_code, caught.value.kind) == (4, "key-has-history")
    assert store.head(TILE) is None
    assert door.versions(TILE) == 1
    assert session.manifest.get(session.partition(SPEC), model_job.names()[0]) is None


def test_a_strict_run_refuses_a_mosaic_that_was_deleted(place: MakePlace, opened: Opened) -> None:
    store, door, _ = place()
    opened(store)
    whole(FIRST)
    for key in (keys.item_key(JOB), keys.mosaic_key(JOB)):
        door.delete(key)
    with pytest.raises(KeyHasHistory, match=r"mosaic\.tif"):
        job.assemble(SPEC, STRICT)
    assert store.head(keys.item_key(JOB)) is None


def test_a_strict_run_of_a_fresh_job_goes_through(place: MakePlace, opened: Opened) -> None:
    store, _, proxy = place()
    opened(store)
    assert counted(whole(STRICT), "written") == 4 + 4
    assert len(looks(proxy)) == 3


def test_what_stands_is_no_history(place: MakePlace, opened: Opened) -> None:
    """Another run died between its tile and its row."""
    store, _, _ = place()
    opened(store)
    job.commit_windows(SPEC, [0], FIRST)
    opened(store)
    assert job.commit_windows(SPEC, [0], STRICT).counters["already_present"] == 1


def test_a_store_without_versions_has_no_history(tmp_path: Path, opened: Opened) -> None:
    opened(open_store(str(tmp_path)))
    assert counted(whole(STRICT), OVER_MARKER) == 0


def _forbid_looks(seen: Request) -> Fault | None:
    return Fault.REFUSE_403 if "versions" in seen.query.split("&") else None


def test_where_versions_may_not_be_listed_a_run_says_so_once_and_goes_on(
    place: MakePlace, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    store, _, proxy = place()
    opened(store)
    proxy.rule = _forbid_looks
    with caplog.at_level(logging.WARNING, "scenemosaic.auditing.trail"):
        batch = job.commit_windows(SPEC, WINDOWS, FIRST)
    assert batch.counters["written"] == 4
    (said,) = caplog.messages
    assert "would go unnoticed" in said
    assert "403" in said


def test_where_versions_may_not_be_listed_a_strict_run_writes_nothing(
    place: MakePlace, opened: Opened
) -> None:
    store, door, proxy = place()
    opened(store)
    proxy.rule = _forbid_looks
    with pytest.raises(PermanentStoreError, match="403"):
        job.commit_windows(SPEC, WINDOWS, STRICT)
    assert door.keys() == []


def test_a_generation_that_is_no_longer_live_is_told(
    fake_gcs: str, monkeypatch: pytest.MonkeyPatch, opened: Opened
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", fake_gcs)
    bucket = gcs_bucket(fake_gcs, versioned=True)
    store = open_store(f"gs://{bucket}/p")
    opened(store)
    job.commit_windows(SPEC, WINDOWS, FIRST)
    older = store.head(TILE)
    GcsDoor(fake_gcs, bucket, "p/", lambda: 0).delete(TILE)
    session = opened(store)
    with pytest.raises(KeyHasHistory, match=TILE):
        job.commit_windows(SPEC, [0], STRICT)
    assert job.commit_windows(SPEC, [0], SECOND).counters[OVER_MARKER] == 1
    (entry,) = audit.read(session, JOB)
    assert older is not None
    assert entry.record.details["versions"] == [older.version_id]


def test_only_what_no_longer_stands_is_former() -> None:
    found = [
        Version("a", "2", current=True), Version("a", "1"), Version("b", "1", current=True),
        Version("c", "2", marker=True), Version("c", "1"),
    ]  # fmt: skip
    past = former(found)
    assert {key: [one.version_id for one in versions] for key, versions in past.items()} == {
        "a": ["1"],
        "c": ["2", "1"],
    }


def test_the_local_store_declares_that_it_keeps_none(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    assert not store.capabilities.versions
    assert not isinstance(store, Histories)
