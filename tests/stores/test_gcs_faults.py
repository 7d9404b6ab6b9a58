"""The Cloud Storage store behind a proxy that loses replies, and sessions that lose bytes."""

import logging
import pickle
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from scenemosaic.commit import Outcome, RetryPolicy, commit_composed, commit_object
from scenemosaic.errors import IncompleteError, PermanentStoreError, TransientStoreError
from scenemosaic.roots import parse_root
from scenemosaic.stores.gcs import GcsStore
from scenemosaic.stores.gcs_requests import GcsOptions, Requests, make_client
from scenemosaic.stores.port import Answer, CopyRun, IfAbsent, IfMatch
from tests.faults.effects import FakeTime
from tests.faults.proxy import LOST_REPLIES, Fault, Proxy, once
from tests.faults.wire import Request
from tests.stores.cloud_doors import GcsDoor, gcs_bucket
from tests.stores.conformance import KEY, MIB, MOSAIC, body, create, large
from tests.stores.doors import Harness
from tests.stores.gcs_front import GcsFront

POLICY = RetryPolicy(attempts=6)
FAST = [fault for fault in LOST_REPLIES if fault is not Fault.HANG]
METADATA = {"digest": "d", "write_id": "run-1/mosaic", "job_id": "0123"}


@dataclass(frozen=True)
class Faulty:
    harness: Harness
    proxy: Proxy
    front: GcsFront

    @property
    def store(self) -> GcsStore:
        assert isinstance(self.harness.store, GcsStore)
        return self.harness.store


@pytest.fixture
def faulty(fake_gcs: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    front = GcsFront(fake_gcs)
    bucket = gcs_bucket(fake_gcs, versioned=True)
    door = GcsDoor(fake_gcs, bucket, "p/", front.open_sessions)
    with front.running(), Proxy(front.url) as proxy:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        root = parse_root(f"gs://{bucket}/p")
        client = make_client(root.uri)
        requests = Requests(client._http, client.api_endpoint, bucket, GcsOptions())
        store = GcsStore(root, requests, POLICY, FakeTime().effects())
        yield Faulty(Harness(store, door, versioned=True), proxy, front)
        store.close()


def is_chunk(request: Request) -> bool:
    return request.method == "PUT" and "upload_id=" in request.query


def is_last_chunk(request: Request) -> bool:
    start, _, total = request.headers.get("content-range", "").partition("/")
    return is_chunk(request) and start.endswith(f"-{int(total or 1) - 1}")


@pytest.mark.parametrize("fault", FAST)
def test_a_request_is_sent_once(faulty: Faulty, fault: Fault) -> None:
    faulty.proxy.rule = once(fault)
    with pytest.raises(TransientStoreError, match=KEY):
        faulty.store.put(KEY, body(b"data"), IfAbsent())
    assert len(faulty.proxy.mutations) == 1


@pytest.mark.parametrize("fault", [*FAST, Fault.CUT_REQUEST, Fault.REFUSE_409, Fault.REFUSE_503])
def test_one_fault_never_costs_a_create(faulty: Faulty, fault: Fault) -> None:
    faulty.proxy.rule = once(fault)
    done = commit_object(
        faulty.store, KEY, body(b"data" * 9), IfAbsent(), POLICY, FakeTime().effects()
    )
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["own_write_recovered"] == (fault in FAST)
    assert done.counters["conflict_409_retried"] == (fault is Fault.REFUSE_409)
    assert faulty.harness.door.versions(KEY) == 1


@pytest.mark.parametrize("fault", FAST)
def test_one_fault_never_costs_a_change(faulty: Faulty, fault: Fault) -> None:
    info = create(faulty.store, b"first")
    faulty.proxy.rule = once(fault)
    changed = body(b"second", "run-1/change-1")
    done = commit_object(
        faulty.store, KEY, changed, IfMatch(info.etag), POLICY, FakeTime().effects()
    )
    assert done.outcome is Outcome.WRITTEN
    assert faulty.harness.door.read(KEY) == b"second"
    assert faulty.harness.door.versions(KEY) == 2


@pytest.mark.parametrize("fault", [*FAST, Fault.CUT_REQUEST, Fault.REFUSE_503])
@pytest.mark.parametrize("struck", [is_chunk, is_last_chunk])
def test_a_chunk_goes_on_where_the_session_stands(
    faulty: Faulty, fault: Fault, struck: object
) -> None:
    segments, expected = large(faulty.harness)
    faulty.proxy.clear()
    faulty.proxy.rule = once(fault, struck)  # type: ignore[arg-type]
    result = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert result.answer is Answer.WRITTEN
    assert faulty.harness.door.read(MOSAIC) == expected
    assert faulty.harness.door.versions(MOSAIC) == 1
    assert faulty.front.started == 1


def test_a_lost_start_is_composed_again(faulty: Faulty) -> None:
    segments, expected = large(faulty.harness)
    faulty.proxy.rule = once(Fault.RESET)
    done = commit_composed(
        faulty.store,
        *(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA),
        *(POLICY, FakeTime().effects()),
    )
    assert done.outcome is Outcome.WRITTEN
    assert faulty.harness.door.read(MOSAIC) == expected
    assert faulty.front.started == 2


@pytest.mark.parametrize("kept", [0, 256 << 10, 5 * MIB])
def test_a_session_that_kept_less_is_sent_the_rest(faulty: Faulty, kept: int) -> None:
    segments, expected = large(faulty.harness)
    faulty.front.keeps = [kept]
    result = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert result.answer is Answer.WRITTEN
    assert faulty.harness.door.read(MOSAIC) == expected


def test_a_session_that_keeps_nothing_is_given_up_and_cancelled(faulty: Faulty) -> None:
    segments, _ = large(faulty.harness)
    faulty.front.keeps = [0] * 99
    with pytest.raises(TransientStoreError, match=MOSAIC):
        faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert faulty.harness.door.open_uploads() == 0
    assert faulty.store.head(MOSAIC) is None


def test_a_session_that_is_gone_is_ambiguous_and_composed_again(faulty: Faulty) -> None:
    segments, expected = large(faulty.harness)
    forgetting = [True]

    def forget(request: Request) -> None:
        if is_last_chunk(request) and forgetting:
            forgetting.clear()
            faulty.front.forget_sessions()

    faulty.proxy.rule = forget
    done = commit_composed(
        faulty.store,
        *(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA),
        *(POLICY, FakeTime().effects()),
    )
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["ambiguous"] == 1
    assert faulty.harness.door.read(MOSAIC) == expected


def test_who_comes_in_between_wins_against_a_session(faulty: Faulty) -> None:
    """Scenario 6: a single request lands during another worker's upload."""
    segments, _ = large(faulty.harness)

    def intervene(request: Request) -> None:
        if is_last_chunk(request):
            faulty.harness.door.write(MOSAIC, b"stands")

    faulty.proxy.rule = intervene
    result = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert result.answer is Answer.REFUSED
    assert faulty.harness.door.read(MOSAIC) == b"stands"
    assert faulty.harness.door.versions(MOSAIC) == 1
    assert faulty.harness.door.open_uploads() == 0


def test_a_source_that_fails_half_way_leaves_no_session(faulty: Faulty) -> None:
    segments, _ = large(faulty.harness)
    wrong = [*segments, CopyRun(KEY, "17", 0, 16 * MIB)]
    with pytest.raises(IncompleteError, match=KEY):
        faulty.store.compose(MOSAIC, wrong, IfAbsent(), "image/tiff", METADATA)
    assert faulty.harness.door.open_uploads() == 0
    assert faulty.store.head(MOSAIC) is None


def test_an_upload_that_cannot_be_cancelled_is_named(
    faulty: Faulty, caplog: pytest.LogCaptureFixture
) -> None:
    segments, _ = large(faulty.harness)
    faulty.front.keeps = [0] * 99
    faulty.proxy.rule = lambda seen: Fault.REFUSE_503 if seen.method == "DELETE" else None
    with (
        caplog.at_level(logging.WARNING, "scenemosaic.stores.gcs_upload"),
        pytest.raises(TransientStoreError),
    ):
        faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", METADATA)
    assert "still open" in caplog.text
    assert MOSAIC in caplog.text
    assert "upload_id" not in caplog.text


def test_a_body_that_is_damaged_on_its_way_is_refused(
    faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scenemosaic.stores.gcs_requests.crc32c", lambda data: "AAAAAA==")
    with pytest.raises(PermanentStoreError, match="HTTP 400"):
        faulty.store.put(KEY, body(b"data"), IfAbsent())
    assert faulty.store.head(KEY) is None


def test_a_store_with_a_client_is_not_pickled(faulty: Faulty) -> None:
    with pytest.raises(TypeError, match="open it again"):
        pickle.dumps(faulty.store)
