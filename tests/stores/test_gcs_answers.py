"""DESIGN's table of answers, row by row, in Cloud Storage's spelling."""

import json

import pytest

from scenemosaic.errors import PermanentStoreError, TransientStoreError
from scenemosaic.stores.gcs_answers import answered_error, classify, failure_of
from scenemosaic.stores.gcs_requests import GcsOptions, generation_match, related
from scenemosaic.stores.port import Condition, IfAbsent, IfMatch
from scenemosaic.stores.s3_answers import Verdict

ABSENT, MATCH = IfAbsent(), IfMatch("17")
NO_BUCKET = "The specified bucket does not exist."
NO_OBJECT = "No such object: bucket/key"


@pytest.mark.parametrize("operation", ["InsertObject", "StartUpload", "UploadChunk"])
@pytest.mark.parametrize("condition", [ABSENT, MATCH])
@pytest.mark.parametrize(
    ("reason", "status", "verdict"),
    [
        ("conditionNotMet", 412, Verdict.REFUSED),
        ("conflict", 409, Verdict.RACING),
        ("", 200, Verdict.TRANSIENT),
        ("", 408, Verdict.TRANSIENT),
        ("rateLimitExceeded", 429, Verdict.TRANSIENT),
        ("rateLimitExceeded", 403, Verdict.TRANSIENT),
        ("userRateLimitExceeded", 403, Verdict.TRANSIENT),
        ("internalError", 500, Verdict.TRANSIENT),
        ("", 502, Verdict.TRANSIENT),
        ("backendError", 503, Verdict.TRANSIENT),
        ("", 504, Verdict.TRANSIENT),
        ("notImplemented", 501, Verdict.PERMANENT),
        ("invalid", 400, Verdict.PERMANENT),
        ("authError", 401, Verdict.PERMANENT),
        ("forbidden", 403, Verdict.PERMANENT),
        ("retentionPolicyNotMet", 403, Verdict.PERMANENT),
        ("objectUnderActiveHold", 403, Verdict.PERMANENT),
        ("quotaExceeded", 403, Verdict.PERMANENT),
        ("uploadTooLarge", 413, Verdict.PERMANENT),
    ],
)
def test_conditional_writes(
    reason: str, status: int, operation: str, condition: Condition, verdict: Verdict
) -> None:
    assert classify(reason, "", status, operation, condition) is verdict


@pytest.mark.parametrize(
    ("operation", "message", "status", "condition", "verdict"),
    [
        ("InsertObject", NO_BUCKET, 404, ABSENT, Verdict.PERMANENT),
        ("StartUpload", NO_BUCKET, 404, MATCH, Verdict.PERMANENT),
        ("UploadChunk", "", 404, ABSENT, Verdict.TRANSIENT),
        ("UploadChunk", "", 410, MATCH, Verdict.TRANSIENT),
        ("CancelUpload", "", 499, None, Verdict.ABSENT),
        ("CancelUpload", "", 404, None, Verdict.ABSENT),
        ("CancelUpload", "", 403, None, Verdict.PERMANENT),
        ("GetObject", NO_OBJECT, 404, None, Verdict.ABSENT),
        ("GetObject", "Not Found", 404, None, Verdict.ABSENT),
        ("GetObject", NO_BUCKET, 404, None, Verdict.PERMANENT),
        ("GetObject", "", 403, None, Verdict.PERMANENT),
        ("GetObject", "", 503, None, Verdict.TRANSIENT),
        ("ReadObject", NO_OBJECT, 404, None, Verdict.ABSENT),
        ("ReadObject", "", 412, None, Verdict.CHANGED),
        ("ReadObject", "", 416, None, Verdict.PAST_END),
        ("ListObjects", NO_BUCKET, 404, None, Verdict.PERMANENT),
        ("ListObjects", "", 412, None, Verdict.PERMANENT),
    ],
)
def test_other_answers(
    operation: str, message: str, status: int, condition: Condition | None, verdict: Verdict
) -> None:
    assert classify("", message, status, operation, condition) is verdict


def answer(reason: str, message: str) -> str:
    return json.dumps({"error": {"message": message, "errors": [{"reason": reason}]}})


def test_an_error_names_operation_key_code_status_and_request() -> None:
    headers = {"X-GUploader-UploadID": "R1"}
    failure = failure_of(403, headers, answer("forbidden", "a@b may not"))
    error = answered_error(Verdict.PERMANENT, failure, "InsertObject", "gs://b/k")
    assert type(error) is PermanentStoreError
    for part in ("InsertObject", "gs://b/k", "forbidden", "a@b may not", "403", "R1", "roles"):
        assert part in str(error)


@pytest.mark.parametrize(
    ("header", "pause_s"),
    [("7", 7.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("soon", None), ("", None)],
)
def test_retry_after_is_carried_where_it_can_be_read(header: str, pause_s: float | None) -> None:
    failure = failure_of(503, {"Retry-After": header}, "")
    error = answered_error(Verdict.TRANSIENT, failure, "InsertObject", "gs://b/k")
    assert isinstance(error, TransientStoreError)
    assert error.retry_after_s == pause_s


@pytest.mark.parametrize("text", ["", "<html>", "[]", '{"error": "text"}', "null"])
def test_an_answer_that_is_no_json_is_still_told(text: str) -> None:
    assert failure_of(502, {}, text).status == 502


def test_the_url_of_a_session_is_never_told() -> None:
    failure = failure_of(503, {}, "PUT /upload/o?uploadType=resumable&upload_id=s3cr3t failed")
    error = answered_error(Verdict.TRANSIENT, failure, "UploadChunk", "gs://b/k")
    assert "s3cr3t" not in str(error)


def test_conditions_and_options_become_parameters() -> None:
    assert generation_match(ABSENT) == {"ifGenerationMatch": "0"}
    assert generation_match(MATCH) == {"ifGenerationMatch": "17"}
    options = GcsOptions("key-1", "NEARLINE", "payer")
    assert options.for_new_object() == {"kmsKeyName": "key-1"}
    assert options.resource() == {"storageClass": "NEARLINE"}
    assert options.for_every_request() == {"userProject": "payer"}
    assert GcsOptions().for_new_object() == GcsOptions().for_every_request() == {}
    assert GcsOptions().resource() == {}


def test_an_insert_holds_the_resource_and_the_bytes_as_they_are() -> None:
    body = related("b", {"contentType": "image/tiff"}, b"\r\n--b--\x00")
    assert body.endswith(b"\r\nContent-Type: image/tiff\r\n\r\n\r\n--b--\x00\r\n--b--\r\n")
    assert body.startswith(b"--b\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{")
