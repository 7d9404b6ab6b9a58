"""What is DynamoDB's alone: what its answers mean, lost replies, and the table."""

import dataclasses
import http.server
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    PartialCredentialsError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError

from scenemosaic.errors import MissingSchema, PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.manifests.dynamodb import DynamoManifest
from scenemosaic.manifests.dynamodb_errors import classify
from scenemosaic.manifests.port import Existing, Inserted, Row, Stale, Updated
from tests import servers
from tests.faults.proxy import LOST_REPLIES, Fault, Proxy, Request, Rule, no_faults, once
from tests.manifests.support import JOB, DynamoCase, columns_of, row


def answer(code: str, status: int = 400, **more: Any) -> ClientError:
    metadata = {"HTTPStatusCode": status, "RequestId": "REQ-1", "HTTPHeaders": {}}
    error = {"Code": code, "Message": "because"}
    return ClientError({"Error": error, "ResponseMetadata": metadata | more}, "PutItem")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (answer("ProvisionedThroughputExceededException"), TransientStoreError),
        (answer("ThrottlingException"), TransientStoreError),
        (answer("RequestLimitExceeded"), TransientStoreError),
        (answer("TransactionConflictException"), TransientStoreError),
        (answer("InternalServerError", 500), TransientStoreError),
        (answer("AnythingElse", 503), TransientStoreError),
        (answer("TooMany", 429), TransientStoreError),
        (answer("ResourceNotFoundException"), MissingSchema),
        (answer("AccessDeniedException"), PermanentStoreError),
        (answer("UnrecognizedClientException"), PermanentStoreError),
        (answer("ExpiredTokenException"), PermanentStoreError),
        (answer("ValidationException"), PermanentStoreError),
        (answer("", 404), PermanentStoreError),
        (ReadTimeoutError(endpoint_url="u"), TransientStoreError),
        (ConnectTimeoutError(endpoint_url="u"), TransientStoreError),
        (EndpointConnectionError(endpoint_url="u"), TransientStoreError),
        (ResponseParserError("half"), TransientStoreError),
        (NoCredentialsError(), PermanentStoreError),
        (NoRegionError(), PermanentStoreError),
        (PartialCredentialsError(provider="env", cred_var="secret"), PermanentStoreError),
        (ParamValidationError(report="bad"), PermanentStoreError),
    ],
)
def test_an_error_means(error: Exception, kind: type[StoreError]):
    meant = classify("PutItem", "table t row j/w", error)
    assert type(meant) is kind
    assert "PutItem on table t row j/w" in str(meant)
    if isinstance(error, ClientError):
        assert "REQ-1" in str(meant)
        assert error.response["Error"]["Code"] in str(meant)


def test_retry_after_is_passed_on():
    slow = classify("Query", "t", answer("SlowDown", 503, HTTPHeaders={"retry-after": "7"}))
    assert isinstance(slow, TransientStoreError)
    assert slow.retry_after_s == 7


@pytest.fixture
def case(ministack: str, table_name: str) -> DynamoCase:
    return DynamoCase(ministack, table_name)


@pytest.fixture
def proxy(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy(ministack) as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        yield running


@pytest.fixture
def manifest(proxy: Proxy, case: DynamoCase) -> Iterator[DynamoManifest]:
    opened = case.open()
    assert isinstance(opened, DynamoManifest)
    opened.ensure()
    proxy.clear()
    yield opened
    opened.close()


def writes(request: Request) -> bool:
    return request.operation == "PutItem"


@pytest.mark.parametrize("fault", [f for f in LOST_REPLIES if f is not Fault.HANG])
def test_a_lost_reply_to_an_insert_is_ambiguous_and_then_our_own_row(
    manifest: DynamoManifest, case: DynamoCase, proxy: Proxy, fault: Fault
):
    proxy.rule = once(fault, only=writes)
    with pytest.raises(TransientStoreError, match=f"PutItem on table {case.table} row {JOB}"):
        manifest.insert(row())
    assert len(proxy.requests) == 1, "the SDK must not send it again"
    assert case.raw_read(JOB, "0000_0000") == columns_of(row())
    assert manifest.insert(row()) == Existing(row())


def test_a_lost_reply_to_a_replace_is_ambiguous(manifest: DynamoManifest, proxy: Proxy):
    manifest.insert(row())
    proxy.clear()
    proxy.rule = once(Fault.RESET, only=writes)
    with pytest.raises(TransientStoreError):
        manifest.replace(row(written_by="run-2"), 1)
    assert len(proxy.requests) == 1
    now = row(written_by="run-2", revision=2)
    assert manifest.replace(row(written_by="run-2"), 1) == Stale(now)


@pytest.mark.parametrize("fault", [Fault.REFUSE_503, Fault.REFUSE_409])
def test_what_was_not_taken_is_transient_and_not_there(
    manifest: DynamoManifest, case: DynamoCase, proxy: Proxy, fault: Fault
):
    proxy.rule = once(fault, only=writes)
    with pytest.raises(TransientStoreError):
        manifest.insert(row())
    assert case.raw_read(JOB, "0000_0000") is None
    assert manifest.insert(row()) == Inserted()


@pytest.mark.parametrize("operation", ["GetItem", "Query"])
@pytest.mark.parametrize("fault", [Fault.CUT_REPLY, Fault.RESET, Fault.ANSWER_500])
def test_half_an_answer_to_a_read_is_never_taken_for_nothing(
    manifest: DynamoManifest, proxy: Proxy, operation: str, fault: Fault
):
    manifest.insert(row())
    calls: dict[str, Callable[[], Any]] = {
        "GetItem": lambda: manifest.get(JOB, "0000_0000"),
        "Query": lambda: list(manifest.windows([JOB])),
    }
    proxy.rule = once(fault, only=lambda request: request.operation == operation)
    with pytest.raises(TransientStoreError, match=operation):
        calls[operation]()


class Damaged(http.server.BaseHTTPRequestHandler):
    """Whole, well-formed answers whose bytes are not those that the service sent."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("x-amz-crc32", "12345")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


def test_a_damaged_answer_is_never_taken_for_nothing(monkeypatch: pytest.MonkeyPatch):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Damaged)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://127.0.0.1:{server.server_port}")
    try:
        damaged = DynamoManifest("t")
        with pytest.raises(TransientStoreError, match="GetItem"):
            damaged.get(JOB, "0000_0000")
        damaged.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_fault_on_one_page_or_shard_is_never_a_shorter_answer(
    manifest: DynamoManifest, proxy: Proxy
):
    shards = [JOB, *(f"{JOB}#{number}" for number in range(1, 12))]
    for shard in shards:
        manifest.insert(row(partition=shard))
    for read in (manifest.windows, manifest.rows):
        proxy.rule = no_faults
        assert len(list(read(shards))) == len(shards)
        proxy.rule = nth(7, Fault.ANSWER_500)
        with pytest.raises(TransientStoreError):
            list(read(shards))


def nth(number: int, fault: Fault) -> Rule:
    queries = itertools.count()
    return lambda request: fault if next(queries) == number else None


class Meeting:
    """A client whose answers to queries come only once so many are asked at the same time."""

    def __init__(self, real: Any, queries: int) -> None:
        self._real, self._met = real, threading.Barrier(queries)

    def query(self, **request: Any) -> Any:
        self._met.wait(60)
        return self._real.query(**request)

    def close(self) -> None:
        self._real.close()


@pytest.mark.parametrize("read", ["windows", "rows"])
def test_shards_are_read_at_once_and_come_in_their_order(manifest: DynamoManifest, read: str):
    entries = [row(partition=shard) for shard in (JOB, f"{JOB}#1", f"{JOB}#2", f"{JOB}#3")]
    for entry in entries:
        manifest.insert(entry)
    manifest._opened = Meeting(manifest._client, len(entries))  # type: ignore[assignment]
    found = list(getattr(manifest, read)([entry.partition for entry in entries]))
    assert found == (entries if read == "rows" else [entry.window for entry in entries])


def test_reading_mutates_nothing(manifest: DynamoManifest, proxy: Proxy):
    manifest.insert(row())
    proxy.clear()
    assert manifest.ready()
    assert manifest.ensure() is False
    manifest.get(JOB, "0000_0000")
    list(manifest.windows([JOB]))
    assert len(list(manifest.rows([JOB]))) == 1
    assert proxy.mutations == []
    assert proxy.counts()["POST", "/", "Query"] == 2


def test_a_refusal_without_the_item_is_read_back(manifest: DynamoManifest, proxy: Proxy):
    manifest.insert(row())
    proxy.clear()
    client = Scripted(manifest._client)
    client.answers["put_item"] = [answer("ConditionalCheckFailedException")] * 2
    manifest._opened = client
    assert manifest.insert(row(written_by="run-2")) == Existing(row())
    assert manifest.replace(row(), 5) == Stale(row())
    assert [seen.operation for seen in proxy.requests] == ["GetItem", "GetItem"]


def test_a_refusal_by_a_row_that_is_then_gone_is_tried_again(manifest: DynamoManifest):
    client = Scripted(manifest._client)
    client.answers["put_item"] = [answer("ConditionalCheckFailedException")]
    manifest._opened = client
    with pytest.raises(TransientStoreError, match="0000_0000"):
        manifest.insert(row())


def test_an_open_manifest_goes_through_a_fork(manifest: DynamoManifest, case: DynamoCase):
    manifest.insert(row("0000_0000"))
    child = os.fork()
    if child == 0:
        os._exit(0 if manifest.insert(row("0000_0001")) == Inserted() else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    manifest.insert(row("0000_0002"))
    assert list(manifest.windows([JOB])) == ["0000_0000", "0000_0001", "0000_0002"]


def test_other_columns_of_an_item_do_not_disturb(manifest: DynamoManifest, case: DynamoCase):
    case.raw_write({**columns_of(row()), "ttl": 99, "note": "by hand"})
    assert manifest.get(JOB, "0000_0000") == row()
    assert manifest.replace(row(), 1) == Updated(dataclasses.replace(row(), revision=2))


class Scripted:
    """A client that first gives the answers it was told to; then it is the real one."""

    def __init__(self, real: Any = None) -> None:
        self._real = real
        self.answers: dict[str, list[Any]] = {}
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            self.calls.append(name)
            if not self.answers.get(name):
                return getattr(self._real, name)(**request)
            scripted = self.answers[name].pop(0)
            if isinstance(scripted, Exception):
                raise scripted
            return scripted

        return call


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def scripted_manifest(client: Scripted, clock: Clock) -> DynamoManifest:
    manifest = DynamoManifest("t", "eu-west-1", clock.sleep, lambda: clock.now_s)
    manifest._opened = client  # type: ignore[assignment]
    return manifest


@pytest.mark.parametrize(
    ("created", "made"), [({}, True), (answer("ResourceInUseException"), False)]
)
def test_making_the_table_waits_until_it_serves(created: Any, made: bool):
    client, clock = Scripted(), Clock()
    client.answers["get_item"] = [*[answer("ResourceNotFoundException")] * 4, {}]
    client.answers["create_table"] = [created]
    assert scripted_manifest(client, clock).ensure() is made
    assert client.calls == ["get_item", "create_table", *["get_item"] * 4]
    assert clock.now_s > 0


def test_a_table_that_never_serves_ends_at_its_deadline():
    client, clock = Scripted(), Clock()
    client.answers["get_item"] = [answer("ResourceNotFoundException")] * 10_000
    client.answers["create_table"] = [{}]
    with pytest.raises(TransientStoreError, match="not active"):
        scripted_manifest(client, clock).ensure()
    assert 100 < clock.now_s < 1000


@pytest.mark.parametrize("code", ["AccessDeniedException", "AccessDenied"])
def test_a_table_that_may_not_be_made_names_the_permission(code: str):
    client = Scripted()
    client.answers["get_item"] = [answer("ResourceNotFoundException")]
    client.answers["create_table"] = [answer(code)]
    with pytest.raises(PermanentStoreError, match=r"scenemosaic init.*dynamodb:CreateTable"):
        scripted_manifest(client, Clock()).ensure()


def test_a_denied_read_is_never_a_missing_table():
    client = Scripted()
    client.answers["get_item"] = [answer("AccessDeniedException")] * 2
    manifest = scripted_manifest(client, Clock())
    for call in (manifest.ready, manifest.ensure):
        with pytest.raises(PermanentStoreError, match="AccessDenied") as caught:
            call()
        assert not isinstance(caught.value, MissingSchema)


def test_a_table_with_other_keys_is_refused(
    ministack: str, table_name: str, case: DynamoCase, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", ministack)
    servers.aws_client("dynamodb", ministack).create_table(
        TableName=table_name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    with pytest.raises(PermanentStoreError, match=f"{table_name}.*ValidationException"):
        case.open().ready()


def test_no_credentials_and_no_region_are_permanent_and_say_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(PermanentStoreError, match="AWS_ACCESS_KEY_ID"):
        DynamoManifest("t", "us-east-1").ready()
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    with pytest.raises(PermanentStoreError, match="AWS_DEFAULT_REGION"):
        DynamoManifest("t").get(JOB, "0000_0000")


def test_an_endpoint_that_nobody_serves_is_transient(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://127.0.0.1:{servers.free_port()}")
    with pytest.raises(TransientStoreError, match="GetItem on table t"):
        DynamoManifest("t").ready()


def test_the_largest_row_is_within_the_limit(manifest: DynamoManifest):
    big: Row = row(blocks=bytes(70_000))
    assert manifest.insert(big) == Inserted()
    assert manifest.get(JOB, "0000_0000") == dataclasses.replace(big, blocks=None)
