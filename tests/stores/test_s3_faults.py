"""The S3 store behind a proxy that loses replies and answers 409; and without credentials."""

import logging
import os
from collections.abc import Iterator

import pytest

from scenemosaic.committing.commit import Outcome
from scenemosaic.errors import PermanentStoreError, TransientStoreError
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Answer, IfAbsent
from scenemosaic.stores.s3_requests import S3Options
from tests import servers
from tests.faults.proxy import Fault, once
from tests.stores.conformance import KEY, MOSAIC, body, large
from tests.stores.faulty import Faulty, is_complete, s3


@pytest.fixture
def faulty(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    with s3(ministack, monkeypatch) as found:
        yield found


def test_a_conflict_at_the_completion_is_a_new_upload(faulty: Faulty) -> None:
    segments, expected = large(faulty.harness)
    faulty.proxy.rule = once(Fault.REFUSE_409, is_complete)
    done = faulty.commit_composed(segments)
    assert done.outcome is Outcome.WRITTEN
    assert done.counters["own_write_recovered"] == 0
    assert done.counters["conflict_409_retried"] == 1
    assert faulty.door.read(MOSAIC) == expected
    assert faulty.door.versions(MOSAIC) == 1
    assert faulty.door.open_uploads() == 0


@pytest.mark.parametrize("key", [KEY, "tiles/nothing/here.tif"], ids=["object", "error"])
def test_a_reply_that_breaks_off_is_ambiguous(faulty: Faulty, key: str) -> None:
    """Also that of an error, which botocore reads without a word of its own for it."""
    faulty.door.write(KEY, b"stands")
    faulty.proxy.rule = once(Fault.CUT_REPLY, lambda seen: seen.method == "GET")
    with pytest.raises(TransientStoreError, match=key):
        faulty.store.get(key)


def test_an_upload_that_cannot_be_aborted_is_named(
    faulty: Faulty, caplog: pytest.LogCaptureFixture
) -> None:
    segments, _ = large(faulty.harness)
    faulty.door.write(MOSAIC, b"stands")
    faulty.proxy.rule = lambda seen: Fault.REFUSE_503 if seen.method == "DELETE" else None
    with caplog.at_level(logging.WARNING, "scenemosaic.stores.s3_multipart"):
        answer = faulty.store.compose(MOSAIC, segments, IfAbsent(), "image/tiff", {})
    assert answer.answer is Answer.REFUSED
    assert MOSAIC in caplog.text
    assert "still open" in caplog.text
    assert faulty.door.open_uploads() == 1


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
