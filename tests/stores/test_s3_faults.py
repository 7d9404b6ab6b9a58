"""The S3 store behind a proxy that loses replies and answers 409; and without credentials."""

import logging
import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from scenemosaic.commit import Outcome, RetryPolicy, commit_composed, commit_object
from scenemosaic.errors import PermanentStoreError, TransientStoreError
from scenemosaic.roots import parse_root
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Answer, IfAbsent, Store
from scenemosaic.stores.s3 import S3Store
from scenemosaic.stores.s3_requests import Requests, S3Options, make_client
from tests import servers
from tests.faults.effects import FakeTime
from tests.faults.proxy import LOST_REPLIES, Fault, Proxy, once
from tests.faults.wire import Request
from tests.stores.conformance import KEY, MOSAIC, body, large
from tests.stores.doors import Harness, S3Door

POLICY = RetryPolicy(attempts=6)
FAST = [fault for fault in LOST_REPLIES if fault is not Fault.HANG]


@dataclass(frozen=True)
class Faulty:
    harness: Harness
    proxy: Proxy

    @property
    def store(self) -> Store:
        return self.harness.store


@pytest.fixture
def faulty(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    bucket = servers.make_bucket(ministack, versioned=True)
    door = S3Door(servers.aws_client("s3", ministack), bucket, "p/")
    with Proxy(ministack) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
        root = parse_root(f"s3://{bucket}/p")
        options = S3Options()
        requests = Requests(make_client(options, root.uri), bucket, options)
        store = S3Store(root, requests, POLICY, FakeTime().effects())
        yield Faulty(Harness(store, door, versioned=True), proxy)
        store.close()


def is_complete(request: Request) -> bool:
    return request.method == "POST" and "uploadId=" in request.query


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
    # After an early 409 the next request may still meet the connection that is being closed.
    assert done.counters["ambiguous"] >= (fault is not Fault.REFUSE_409)
    assert faulty.harness.door.versions(KEY) == 1
    stored = faulty.store.head(KEY)
    assert stored is not None
    assert done.info is not None
    assert done.info.version_id == stored.version_id


@pytest.mark.parametrize("fault", [*FAST, Fault.REFUSE_409])
def test_one_fault_at_the_completion_never_costs_a_composition(
    faulty: Faulty, fault: Fault
) -> None:
    segments, expected = large(faulty.harness)
    faulty.proxy.rule = once(fault, is_complete)
    metadata = {"digest": "d", "write_id": "run-1/mosaic", "job_id": "0123"}
    effects = FakeTime().effects()
    done = commit_composed(
        faulty.store, MOSAIC, segments, IfAbsent(), "image/tiff", metadata, POLICY, effects
    )
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["own_write_recovered"] == (fault in FAST)
    assert done.counters["conflict_409_retried"] == (fault is Fault.REFUSE_409)
    assert faulty.harness.door.read(MOSAIC) == expected
    assert faulty.harness.door.versions(MOSAIC) == 1
    assert faulty.harness.door.open_uploads() == 0


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.ANSWER_503, Fault.CUT_REQUEST])
def test_a_part_is_sent_again_without_a_new_upload(faulty: Faulty, fault: Fault) -> None:
    segments, expected = large(faulty.harness)
    faulty.proxy.clear()
    faulty.proxy.rule = once(fault, lambda seen: "partNumber=1" in seen.query)
    answer = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", {"write_id": "w"})
    assert answer.answer is Answer.WRITTEN
    assert faulty.harness.door.read(MOSAIC) == expected
    assert sum("partNumber=1&" in seen.query for seen in faulty.proxy.requests) == 2
    assert sum(is_complete(seen) for seen in faulty.proxy.requests) == 1


def test_an_upload_that_cannot_be_aborted_is_named(
    faulty: Faulty, caplog: pytest.LogCaptureFixture
) -> None:
    segments, _ = large(faulty.harness)
    faulty.harness.door.write(MOSAIC, b"stands")
    faulty.proxy.rule = lambda seen: Fault.REFUSE_503 if seen.method == "DELETE" else None
    with caplog.at_level(logging.WARNING, "scenemosaic.stores.s3_multipart"):
        answer = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", {})
    assert answer.answer is Answer.REFUSED
    assert MOSAIC in caplog.text
    assert "still open" in caplog.text
    assert faulty.harness.door.open_uploads() == 1


def test_no_bucket_is_permanent(ministack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", ministack)
    store = open_store("s3://no-such-bucket-here/p")
    with pytest.raises(PermanentStoreError, match=r"NoSuchBucket.*make the bucket"):
        store.put(KEY, body(b"x"), IfAbsent())
    with pytest.raises(PermanentStoreError, match="NoSuchBucket"):
        store.get(KEY)
    with pytest.raises(PermanentStoreError, match="NoSuchBucket"):
        list(store.list(""))


def test_no_credentials_are_permanent(ministack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", ministack)
    for name in [name for name in os.environ if name.startswith("AWS_") and "KEY" in name]:
        monkeypatch.delenv(name)
    with pytest.raises(PermanentStoreError, match=r"no AWS credentials.*AWS_PROFILE"):
        open_store("s3://some-bucket/p").put(KEY, body(b"x"), IfAbsent())


def test_an_unknown_profile_is_permanent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(PermanentStoreError, match="nobody"):
        open_store("s3://some-bucket/p")


def test_a_server_that_is_down_is_transient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{servers.free_port()}")
    with pytest.raises(TransientStoreError, match=KEY):
        open_store("s3://some-bucket/p").head(KEY)


def test_a_store_with_a_client_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="open it again"):
        pickle.dumps(open_store("s3://some-bucket/p"))


def test_options_become_parameters() -> None:
    options = S3Options("key-1", "STANDARD_IA", (("team", "a b"),), requester_pays=True)
    assert options.for_new_object() == {
        "ServerSideEncryption": "aws:kms",
        "SSEKMSKeyId": "key-1",
        "StorageClass": "STANDARD_IA",
        "Tagging": "team=a+b",
    }
    assert options.for_every_request() == {"RequestPayer": "requester"}
    assert S3Options().for_new_object() == S3Options().for_every_request() == {}
