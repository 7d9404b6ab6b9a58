"""The fault proxy itself: what it counts, what it passes through, what it loses."""

import contextlib
import http.server
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    HTTPClientError,
    ReadTimeoutError,
)

from tests import servers
from tests.faults.proxy import LOST_REPLIES, Fault, Proxy, Request, once, seeded


def client(service: str, proxy: Proxy, read_timeout_s: float = 20):
    """One attempt a request, as the adapters do."""
    config = Config(
        retries={"total_max_attempts": 1},
        read_timeout=read_timeout_s,
        s3={"addressing_style": "path"},
    )
    return boto3.client(service, endpoint_url=proxy.url, config=config)


@pytest.fixture
def bucket(ministack: str) -> str:
    return servers.make_bucket(ministack)


@pytest.fixture
def proxy(ministack: str) -> Iterator[Proxy]:
    with Proxy(ministack) as running:
        yield running


def keys(endpoint: str, bucket: str) -> list[str]:
    listed = servers.aws_client("s3", endpoint).list_objects_v2(Bucket=bucket)
    return [found["Key"] for found in listed.get("Contents", [])]


class Early(http.server.BaseHTTPRequestHandler):
    """An upstream that answers 412 from the head alone; reads a body only where asked to."""

    protocol_version = "HTTP/1.1"

    def handle_expect_100(self) -> bool:
        return True  # no interim answer

    def do_PUT(self) -> None:
        self.send_response(412)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def early_server() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Early)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_s3_passes_through_unchanged_and_is_counted(ministack: str, proxy: Proxy, bucket: str):
    s3, body = client("s3", proxy), bytes(range(256)) * 4096
    s3.put_object(Bucket=bucket, Key="a/b c", Body=body, Metadata={"sha256": "x"})
    assert s3.get_object(Bucket=bucket, Key="a/b c")["Body"].read() == body
    assert s3.get_object(Bucket=bucket, Key="a/b c", Range="bytes=5-9")["Body"].read() == body[5:10]
    assert s3.head_object(Bucket=bucket, Key="a/b c")["ContentLength"] == len(body)
    put, *reads = proxy.requests
    assert (put.method, put.status) == ("PUT", 200)
    assert put.body_bytes >= len(body)
    assert proxy.mutations == [put]
    assert [(seen.method, seen.status) for seen in reads] == [
        ("GET", 200),
        ("GET", 206),
        ("HEAD", 200),
    ]
    assert proxy.counts()["GET", f"/{bucket}/a/b%20c", ""] == 2
    proxy.clear()
    assert proxy.requests == []


def test_a_refusal_of_the_upstream_passes_through(proxy: Proxy, bucket: str):
    s3 = client("s3", proxy)
    s3.put_object(Bucket=bucket, Key="k", Body=b"1", IfNoneMatch="*")
    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.put_object(Bucket=bucket, Key="k", Body=b"2", IfNoneMatch="*")
    with pytest.raises(ClientError, match="404"):
        s3.head_object(Bucket=bucket, Key="absent")
    assert [seen.status for seen in proxy.requests] == [200, 412, 404]


def test_dynamodb_operations_are_told_apart(proxy: Proxy, table_name: str):
    dynamodb = client("dynamodb", proxy)
    dynamodb.create_table(
        TableName=table_name,
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.put_item(TableName=table_name, Item={"k": {"S": "1"}})
    dynamodb.describe_table(TableName=table_name)
    dynamodb.get_item(TableName=table_name, Key={"k": {"S": "1"}})
    dynamodb.query(
        TableName=table_name,
        KeyConditionExpression="k = :k",
        ExpressionAttributeValues={":k": {"S": "1"}},
    )
    assert [seen.operation for seen in proxy.mutations] == ["CreateTable", "PutItem"]
    assert proxy.counts()["POST", "/", "Query"] == 1


@pytest.mark.parametrize("operation", ["DeleteItem", "UpdateItem", "TransactWriteItems", "New"])
def test_what_is_not_known_to_read_counts_as_mutating(operation: str):
    assert Request("POST", "/", "", {"x-amz-target": f"DynamoDB_20120810.{operation}"}).mutating


@pytest.mark.parametrize("fault", LOST_REPLIES)
def test_a_lost_reply_leaves_the_write_in_place(
    ministack: str, proxy: Proxy, bucket: str, fault: Fault
):
    proxy.rule = once(fault)
    s3 = client("s3", proxy, read_timeout_s=1)
    with pytest.raises((BotoCoreError, ClientError)) as caught:
        s3.put_object(Bucket=bucket, Key="k", Body=b"1", IfNoneMatch="*")
    if fault is Fault.RESET:
        assert isinstance(caught.value, ConnectionClosedError)
    if fault is Fault.HANG:
        assert isinstance(caught.value, ReadTimeoutError)
    if isinstance(caught.value, ClientError):
        status = caught.value.response["ResponseMetadata"]["HTTPStatusCode"]
        assert status == int(fault.name[-3:])
    assert keys(ministack, bucket) == ["k"]
    assert [(seen.fault, seen.status) for seen in proxy.requests] == [(fault, 200)]
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"1"


def test_half_of_a_read_is_an_error(proxy: Proxy, bucket: str):
    s3 = client("s3", proxy)
    s3.put_object(Bucket=bucket, Key="k", Body=b"1" * 100_000)
    proxy.rule = once(Fault.CUT_REPLY, only=lambda request: request.method == "GET")
    answer = s3.get_object(Bucket=bucket, Key="k")
    with pytest.raises(HTTPClientError):
        answer["Body"].read()


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault.REFUSE_403, "AccessDenied"),
        (Fault.REFUSE_409, "ConditionalRequestConflict"),
        (Fault.REFUSE_503, "SlowDown"),
    ],
)
@pytest.mark.parametrize("size", [1, 3 << 20])
def test_a_refused_request_never_reaches_the_upstream(
    ministack: str, proxy: Proxy, bucket: str, fault: Fault, code: str, size: int
):
    proxy.rule = once(fault)
    s3 = client("s3", proxy)
    with pytest.raises(ClientError) as caught:
        s3.put_object(Bucket=bucket, Key="k", Body=b"1" * size)
    assert caught.value.response["Error"]["Code"] == code
    assert keys(ministack, bucket) == []
    assert proxy.requests[0].status is None
    s3.put_object(Bucket=bucket, Key="k", Body=b"1" * size)
    assert keys(ministack, bucket) == ["k"]


def test_a_cut_request_does_not_land(ministack: str, proxy: Proxy, bucket: str):
    proxy.rule = once(Fault.CUT_REQUEST)
    with pytest.raises(BotoCoreError):
        client("s3", proxy).put_object(Bucket=bucket, Key="k", Body=b"1" * 1_000_000)
    assert keys(ministack, bucket) == []


def test_a_held_request_lands_after_its_client_gave_up(ministack: str, proxy: Proxy, bucket: str):
    proxy.rule = once(Fault.HOLD)
    s3 = client("s3", proxy)
    with pytest.raises(BotoCoreError):
        s3.put_object(Bucket=bucket, Key="k", Body=b"late", IfNoneMatch="*")
    with pytest.raises(ClientError, match="404"):
        s3.head_object(Bucket=bucket, Key="k")
    proxy.release()
    assert proxy.requests[0].status == 200
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"late"


def test_an_early_answer_saves_the_body():
    with early_server() as upstream, Proxy(upstream) as proxy:
        with pytest.raises(ClientError) as caught:
            client("s3", proxy).put_object(Bucket="b", Key="k", Body=b"1" * (8 << 20))
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412
        assert [seen.body_bytes for seen in proxy.requests] == [0]


def test_a_chunked_upload_and_keep_alive_pass_through(ministack: str, proxy: Proxy, bucket: str):
    split = urlsplit(proxy.url)
    head = f"PUT /{bucket}/k HTTP/1.1\r\nHost: {split.netloc}\r\nTransfer-Encoding: chunked\r\n\r\n"
    read = f"HEAD /{bucket}/k HTTP/1.1\r\nHost: {split.netloc}\r\n\r\n"
    with socket.create_connection((split.hostname, split.port), timeout=20) as raw:
        answers = raw.makefile("rb")
        for _ in range(2):
            raw.sendall(head.encode() + b"3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n" + read.encode())
            for _ in range(2):
                assert b" 200" in answers.readline()
                while answers.readline() != b"\r\n":
                    pass
    assert [seen.body_bytes for seen in proxy.requests] == [7, 0, 7, 0]
    body = servers.aws_client("s3", ministack).get_object(Bucket=bucket, Key="k")["Body"]
    assert body.read() == b"abcdefg"


def test_a_delay_passes_on(ministack: str, proxy: Proxy, bucket: str):
    proxy.rule = lambda request: 0.01
    client("s3", proxy).put_object(Bucket=bucket, Key="k", Body=b"1")
    assert keys(ministack, bucket) == ["k"]


def test_a_seeded_rule_strikes_again_the_same_way():
    requests = [Request("PUT", f"/b/{number}", "", {}) for number in range(200)]
    first, again = (seeded(0.2, seed=7) for _ in range(2))
    struck = [first(request) for request in requests]
    assert struck == [again(request) for request in requests]
    assert 20 < sum(fault is not None for fault in struck) < 60
    reads = seeded(1.0, seed=7)
    assert reads(Request("GET", "/b/k", "", {})) is None


def test_many_threads_are_all_counted(ministack: str, proxy: Proxy, bucket: str):
    s3 = client("s3", proxy)

    def work(number: int) -> None:
        for turn in range(10):
            s3.put_object(Bucket=bucket, Key=f"{number}-{turn}", Body=b"1" * 10)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(proxy.mutations) == len(keys(ministack, bucket)) == 80
