"""DESIGN's table of answers, row by row."""

import pytest

from scenemosaic.errors import MissingCapability, PermanentStoreError, TransientStoreError
from scenemosaic.stores.port import Condition, IfAbsent, IfMatch
from scenemosaic.stores.s3_answers import Verdict, answered_error, classify

ABSENT, MATCH = IfAbsent(), IfMatch('"e"')
WRITES = ("PutObject", "CompleteMultipartUpload")


@pytest.mark.parametrize("operation", WRITES)
@pytest.mark.parametrize(
    ("code", "status", "condition", "verdict"),
    [
        ("PreconditionFailed", 412, ABSENT, Verdict.REFUSED),
        ("PreconditionFailed", 412, MATCH, Verdict.REFUSED),
        ("PreconditionFailed", 200, ABSENT, Verdict.REFUSED),
        ("ConditionalRequestConflict", 409, ABSENT, Verdict.RACING),
        ("ConditionalRequestConflict", 409, MATCH, Verdict.RACING),
        ("ConditionalRequestConflict", 200, ABSENT, Verdict.RACING),
        ("OperationAborted", 409, ABSENT, Verdict.RACING),
        ("NoSuchKey", 404, MATCH, Verdict.GONE),
        ("NoSuchKey", 404, ABSENT, Verdict.PERMANENT),
        ("NoSuchBucket", 404, MATCH, Verdict.PERMANENT),
        ("NoSuchBucket", 404, ABSENT, Verdict.PERMANENT),
        ("NoSuchUpload", 404, ABSENT, Verdict.TRANSIENT),
        ("NoSuchUpload", 404, MATCH, Verdict.TRANSIENT),
        ("InternalError", 500, ABSENT, Verdict.TRANSIENT),
        ("InternalError", 200, ABSENT, Verdict.TRANSIENT),
        ("SlowDown", 503, ABSENT, Verdict.TRANSIENT),
        ("SlowDown", 200, ABSENT, Verdict.TRANSIENT),
        ("", 200, ABSENT, Verdict.TRANSIENT),
        ("Nobody knows", 200, ABSENT, Verdict.TRANSIENT),
        ("502", 502, ABSENT, Verdict.TRANSIENT),
        ("429", 429, ABSENT, Verdict.TRANSIENT),
        ("TooManyRequests", 429, ABSENT, Verdict.TRANSIENT),
        ("RequestTimeout", 400, ABSENT, Verdict.TRANSIENT),
        ("InvalidRequest", 400, ABSENT, Verdict.PERMANENT),
        ("BadDigest", 400, ABSENT, Verdict.PERMANENT),
        ("EntityTooSmall", 400, ABSENT, Verdict.PERMANENT),
        ("ExpiredToken", 400, ABSENT, Verdict.PERMANENT),
        ("Unauthorized", 401, ABSENT, Verdict.PERMANENT),
        ("AccessDenied", 403, ABSENT, Verdict.PERMANENT),
        ("AccessDenied", 403, MATCH, Verdict.PERMANENT),
        ("SignatureDoesNotMatch", 403, ABSENT, Verdict.PERMANENT),
        ("PermanentRedirect", 301, ABSENT, Verdict.PERMANENT),
        ("NotImplemented", 501, ABSENT, Verdict.PERMANENT),
        ("InvalidBucketState", 409, ABSENT, Verdict.PERMANENT),
    ],
)
def test_conditional_writes(
    operation: str, code: str, status: int, condition: Condition, verdict: Verdict
) -> None:
    assert classify(code, status, operation, condition) is verdict


@pytest.mark.parametrize(
    ("operation", "code", "status", "verdict"),
    [
        ("HeadObject", "404", 404, Verdict.ABSENT),
        ("HeadObject", "403", 403, Verdict.PERMANENT),
        ("HeadObject", "400", 400, Verdict.PERMANENT),
        ("HeadObject", "503", 503, Verdict.TRANSIENT),
        ("GetObject", "NoSuchKey", 404, Verdict.ABSENT),
        ("GetObject", "NoSuchBucket", 404, Verdict.PERMANENT),
        ("GetObject", "PreconditionFailed", 412, Verdict.CHANGED),
        ("GetObject", "InvalidRange", 416, Verdict.PAST_END),
        ("GetObject", "AccessDenied", 403, Verdict.PERMANENT),
        ("UploadPartCopy", "PreconditionFailed", 412, Verdict.CHANGED),
        ("UploadPartCopy", "NoSuchKey", 404, Verdict.ABSENT),
        ("UploadPartCopy", "InvalidRange", 416, Verdict.PAST_END),
        ("UploadPartCopy", "InternalError", 200, Verdict.TRANSIENT),
        ("UploadPart", "PreconditionFailed", 412, Verdict.PERMANENT),
        ("UploadPart", "NoSuchUpload", 404, Verdict.RACING),
        ("AbortMultipartUpload", "NoSuchUpload", 404, Verdict.ABSENT),
        ("AbortMultipartUpload", "AccessDenied", 403, Verdict.PERMANENT),
        ("CreateMultipartUpload", "PreconditionFailed", 412, Verdict.PERMANENT),
        ("ListObjectsV2", "404", 404, Verdict.PERMANENT),
    ],
)
def test_other_requests(operation: str, code: str, status: int, verdict: Verdict) -> None:
    assert classify(code, status, operation, None) is verdict


def answer(code: str, status: int, **headers: str) -> dict[str, object]:
    return {
        "Error": {"Code": code, "Message": "said so"},
        "ResponseMetadata": {
            "HTTPStatusCode": status,
            "RequestId": "R1",
            "HTTPHeaders": {name.replace("_", "-"): value for name, value in headers.items()},
        },
    }


def test_an_error_names_operation_key_code_status_and_request() -> None:
    denied = answer("AccessDenied", 403)
    error = answered_error(Verdict.PERMANENT, denied, "PutObject", "s3://b/k")
    assert type(error) is PermanentStoreError
    for part in ("PutObject", "s3://b/k", "AccessDenied", "403", "R1", "credentials"):
        assert part in str(error)


@pytest.mark.parametrize(
    ("header", "pause_s"),
    [("7", 7.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("soon", None), ("-1", None)],
)
def test_retry_after_is_carried_where_it_can_be_read(header: str, pause_s: float | None) -> None:
    slow = answer("SlowDown", 503, retry_after=header)
    error = answered_error(Verdict.TRANSIENT, slow, "PutObject", "s3://b/k")
    assert isinstance(error, TransientStoreError)
    assert error.retry_after_s == pause_s


def test_a_condition_that_a_store_does_not_know_is_a_missing_capability() -> None:
    unknown = answer("NotImplemented", 501)
    error = answered_error(Verdict.PERMANENT, unknown, "PutObject", "s3://b/k")
    assert isinstance(error, MissingCapability)
