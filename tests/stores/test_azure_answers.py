"""DESIGN's table of answers, row by row, in Azure's spelling."""

import pytest
from azure.core import MatchConditions

from scenemosaic.errors import MissingCapability, PermanentStoreError, TransientStoreError
from scenemosaic.stores.azure_answers import answered_error, classify, failure_of
from scenemosaic.stores.azure_requests import AzureOptions, condition_arguments
from scenemosaic.stores.port import Condition, IfAbsent, IfMatch
from scenemosaic.stores.s3_answers import Verdict

ABSENT, MATCH = IfAbsent(), IfMatch('"0x1"')


@pytest.mark.parametrize("operation", ["PutBlob", "PutBlockList"])
@pytest.mark.parametrize("condition", [ABSENT, MATCH])
@pytest.mark.parametrize(
    ("code", "status", "verdict"),
    [
        ("BlobAlreadyExists", 409, Verdict.REFUSED),
        ("ConditionNotMet", 412, Verdict.REFUSED),
        ("TargetConditionNotMet", 412, Verdict.REFUSED),
        ("", 412, Verdict.REFUSED),
        ("BlobNotFound", 404, Verdict.GONE),
        ("InvalidBlockList", 400, Verdict.RACING),
        ("LeaseIdMissing", 412, Verdict.PERMANENT),
        ("LeaseIdMismatchWithBlobOperation", 412, Verdict.PERMANENT),
        ("LeaseLost", 412, Verdict.PERMANENT),
        ("BlobImmutableDueToPolicy", 409, Verdict.PERMANENT),
        ("BlobArchived", 409, Verdict.PERMANENT),
        ("BlobBeingRehydrated", 409, Verdict.PERMANENT),
        ("PendingCopyOperation", 409, Verdict.PERMANENT),
        ("InvalidBlobType", 409, Verdict.PERMANENT),
        ("BlockCountExceedsLimit", 409, Verdict.PERMANENT),
        ("ContainerBeingDeleted", 409, Verdict.PERMANENT),
        ("ContainerNotFound", 404, Verdict.PERMANENT),
        ("", 409, Verdict.PERMANENT),
        ("Md5Mismatch", 400, Verdict.PERMANENT),
        ("InvalidQueryParameterValue", 400, Verdict.PERMANENT),
        ("NoAuthenticationInformation", 401, Verdict.PERMANENT),
        ("AuthenticationFailed", 403, Verdict.PERMANENT),
        ("AuthorizationFailure", 403, Verdict.PERMANENT),
        ("AuthorizationPermissionMismatch", 403, Verdict.PERMANENT),
        ("AccountIsDisabled", 403, Verdict.PERMANENT),
        ("RequestBodyTooLarge", 413, Verdict.PERMANENT),
        ("APINotImplemented", 501, Verdict.PERMANENT),
        ("InternalError", 500, Verdict.TRANSIENT),
        ("OperationTimedOut", 500, Verdict.TRANSIENT),
        ("ServerBusy", 503, Verdict.TRANSIENT),
        ("", 502, Verdict.TRANSIENT),
        ("", 408, Verdict.TRANSIENT),
        ("TooManyRequests", 429, Verdict.TRANSIENT),
        ("", 200, Verdict.TRANSIENT),
        ("", 0, Verdict.TRANSIENT),
    ],
)
def test_conditional_writes(
    code: str, status: int, operation: str, condition: Condition, verdict: Verdict
) -> None:
    assert classify(code, status, operation, condition) is verdict


@pytest.mark.parametrize(
    ("operation", "code", "status", "verdict"),
    [
        ("GetBlobProperties", "BlobNotFound", 404, Verdict.ABSENT),
        ("GetBlobProperties", "", 404, Verdict.ABSENT),
        ("GetBlobProperties", "ContainerNotFound", 404, Verdict.PERMANENT),
        ("GetBlobProperties", "AuthorizationFailure", 403, Verdict.PERMANENT),
        ("GetBlobProperties", "", 403, Verdict.PERMANENT),
        ("GetBlobProperties", "ServerBusy", 503, Verdict.TRANSIENT),
        ("GetBlob", "BlobNotFound", 404, Verdict.ABSENT),
        ("GetBlob", "ConditionNotMet", 412, Verdict.CHANGED),
        ("GetBlob", "InvalidRange", 416, Verdict.PAST_END),
        ("GetBlob", "BlobArchived", 409, Verdict.PERMANENT),
        ("GetBlockList", "BlobNotFound", 404, Verdict.ABSENT),
        ("PutBlockFromURL", "SourceConditionNotMet", 412, Verdict.CHANGED),
        ("PutBlockFromURL", "CannotVerifyCopySource", 404, Verdict.ABSENT),
        ("PutBlockFromURL", "CannotVerifyCopySource", 403, Verdict.PERMANENT),
        ("PutBlockFromURL", "InvalidRange", 416, Verdict.PAST_END),
        ("PutBlockFromURL", "LeaseIdMissing", 412, Verdict.PERMANENT),
        ("PutBlock", "ConditionNotMet", 412, Verdict.PERMANENT),
        ("PutBlock", "InvalidBlobOrBlock", 400, Verdict.PERMANENT),
        ("ListBlobs", "ContainerNotFound", 404, Verdict.PERMANENT),
    ],
)
def test_other_requests(operation: str, code: str, status: int, verdict: Verdict) -> None:
    assert classify(code, status, operation, None) is verdict


def test_an_error_names_operation_key_code_status_and_request() -> None:
    headers = {"x-ms-error-code": "AuthenticationFailed", "x-ms-request-id": "R1"}
    failure = failure_of(403, headers, "no entry\nThe MAC signature 's3cr3t' is not the same")
    error = answered_error(Verdict.PERMANENT, failure, "PutBlob", "az://c/k")
    assert type(error) is PermanentStoreError
    for part in ("PutBlob", "az://c/k", "AuthenticationFailed", "no entry", "403", "R1", "roles"):
        assert part in str(error)
    assert "s3cr3t" not in str(error)


@pytest.mark.parametrize(
    ("header", "pause_s"),
    [("7", 7.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("soon", None), ("", None)],
)
def test_retry_after_is_carried_where_it_can_be_read(header: str, pause_s: float | None) -> None:
    failure = failure_of(503, {"Retry-After": header}, "")
    error = answered_error(Verdict.TRANSIENT, failure, "PutBlob", "az://c/k")
    assert isinstance(error, TransientStoreError)
    assert error.retry_after_s == pause_s


def test_what_a_store_does_not_know_is_a_missing_capability() -> None:
    failure = failure_of(501, {"x-ms-error-code": "APINotImplemented"}, "")
    error = answered_error(Verdict.PERMANENT, failure, "PutBlob", "az://c/k")
    assert isinstance(error, MissingCapability)


def test_a_signature_is_never_told() -> None:
    failure = failure_of(503, {}, "GET http://host/c/k?sv=1&sig=s3cr3t failed")
    assert "s3cr3t" not in str(answered_error(Verdict.TRANSIENT, failure, "GetBlob", "az://c/k"))


def test_conditions_become_arguments() -> None:
    assert condition_arguments(ABSENT) == {"match_condition": MatchConditions.IfMissing}
    matching = {"match_condition": MatchConditions.IfNotModified}
    assert condition_arguments(MATCH) == matching | {"etag": '"0x1"'}
    assert condition_arguments(IfMatch("0x1")) == matching | {"etag": '"0x1"'}


def test_options_become_arguments() -> None:
    options = AzureOptions("Cool", "scope-1", (("team", "a b"),))
    assert options.for_new_object() == {
        "standard_blob_tier": "Cool",
        "encryption_scope": "scope-1",
        "tags": {"team": "a b"},
    }
    assert options.for_blocks() == {"encryption_scope": "scope-1"}
    assert AzureOptions().for_new_object() == AzureOptions().for_blocks() == {}
