"""Object Lock, retention, holds, leases and archive tiers: told apart, and never a lost race."""

from collections.abc import Callable
from typing import Any

import pytest

from scenemosaic.errors import MissingCapability, PermanentStoreError, RetentionError, StoreError
from scenemosaic.stores import azure_answers, gcs_answers, s3_answers
from scenemosaic.stores.port import Condition, IfAbsent, IfMatch
from scenemosaic.stores.s3_answers import Verdict

CONDITIONS = (IfAbsent(), IfMatch('"e"'))
NEEDS_CHECKSUM = (
    "Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests "
    "with Object Lock parameters"
)


def _s3(code: str, status: int, text: str, operation: str, condition: Condition | None) -> Any:
    response = {
        "Error": {"Code": code, "Message": text},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": "R1"},
    }
    verdict = s3_answers.classify(code, status, operation, condition)
    return verdict, s3_answers.answered_error(verdict, response, operation, "s3://b/k")


def _gcs(reason: str, status: int, text: str, operation: str, condition: Condition | None) -> Any:
    failure = gcs_answers.Failure(status, reason, text, "R1", None)
    verdict = gcs_answers.classify(reason, text, status, operation, condition)
    return verdict, gcs_answers.answered_error(verdict, failure, operation, "gs://b/k")


def _azure(code: str, status: int, text: str, operation: str, condition: Condition | None) -> Any:
    failure = azure_answers.Failure(status, code, text, "R1", None)
    verdict = azure_answers.classify(code, status, operation, condition)
    return verdict, azure_answers.answered_error(verdict, failure, operation, "az://c/k")


ANSWERED: dict[str, tuple[Callable[..., Any], tuple[str, str]]] = {
    "s3": (_s3, ("PutObject", "CompleteMultipartUpload")),
    "gcs": (_gcs, ("InsertObject", "UploadChunk")),
    "azure": (_azure, ("PutBlob", "PutBlockList")),
}

RETAINED = [
    ("s3", "AccessDenied", 403, "Access Denied because object protected by object lock.", "holds"),
    ("s3", "InvalidRequest", 400, NEEDS_CHECKSUM, "Object Lock"),
    ("s3", "InvalidRequest", 400, "Bucket is missing Object Lock Configuration", "Object Lock"),
    ("s3", "InvalidRequest", 400, "Bucket is missing ObjectLockConfiguration", "Object Lock"),
    ("s3", "InvalidRequest", 400, "Object is WORM protected and cannot be overwritten", "holds"),
    ("s3", "InvalidObjectState", 403, "not valid for the object's storage class", "restore"),
    ("gcs", "retentionPolicyNotMet", 403, "Object 'b/k' is subject to", "until it ends"),
    ("gcs", "objectUnderActiveHold", 403, "", "until it ends"),
    ("gcs", "forbidden", 403, "Object 'k' is subject to bucket's retention policy or", "hold"),
    ("gcs", "forbidden", 403, "Object 'k' is under active Temporary hold", "hold"),
    ("azure", "BlobImmutableDueToPolicy", 409, "immutable due to a policy", "until it ends"),
    ("azure", "BlobImmutableDueToLegalHold", 409, "immutable due to", "until it ends"),
    ("azure", "ContainerHasLegalHold", 409, "", "until it ends"),
    ("azure", "ContainerImmutabilityPolicyLocked", 409, "", "until it ends"),
    ("azure", "BlobBeingRehydrated", 409, "being rehydrated", "rehydrate"),
    ("azure", "BlobArchived", 409, "", "rehydrate"),
    ("azure", "LeaseIdMissing", 412, "no lease ID was specified", "release it"),
    ("azure", "LeaseIdMismatchWithBlobOperation", 412, "", "release it"),
    ("azure", "LeaseLost", 412, "", "release it"),
    ("azure", "LeaseIdMismatchWithContainerOperation", 409, "", "release it"),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=["create", "replace"])
@pytest.mark.parametrize(("store", "code", "status", "text", "advice"), RETAINED)
def test_it_is_no_lost_race_and_says_what_to_do(
    store: str, code: str, status: int, text: str, advice: str, condition: Condition
) -> None:
    answered, writes = ANSWERED[store]
    for operation in writes:
        verdict, error = answered(code, status, text, operation, condition)
        assert verdict is Verdict.PERMANENT
        assert type(error) is RetentionError
        assert (error.kind, error.exit_code, error.retryable) == ("retention", 5, False)
        for part in (operation, f"{status}", code, "R1", "/k", advice):
            assert part in str(error)


@pytest.mark.parametrize(
    ("store", "code", "status", "text"),
    [
        ("s3", "AccessDenied", 403, "Access Denied"),
        ("s3", "AccessDenied", 403, "not authorized to perform: s3:PutObjectRetention"),
        ("s3", "AccessDenied", 403, "not authorized to perform: s3:PutObjectLegalHold"),
        ("s3", "InvalidRequest", 400, "Value for x-amz-checksum-sha256 header is invalid."),
        ("s3", "InvalidBucketState", 409, "not valid with the current state of the bucket"),
        ("gcs", "forbidden", 403, "a@b does not have storage.objects.setRetention access"),
        ("gcs", "orgPolicyConstraintFailed", 412, "violates constraint"),
        ("azure", "AuthorizationFailure", 403, "not authorized"),
        ("azure", "InvalidBlobType", 409, "the blob type is invalid"),
        ("azure", "ContainerBeingDeleted", 409, ""),
    ],
)
def test_other_refusals_of_the_store_are_not_taken_for_it(
    store: str, code: str, status: int, text: str
) -> None:
    answered, writes = ANSWERED[store]
    for operation in writes:
        verdict, error = answered(code, status, text, operation, IfAbsent())
        assert verdict is Verdict.PERMANENT
        assert type(error) is PermanentStoreError


def test_deleting_a_locked_probe_is_told_apart_too() -> None:
    text = "Access Denied because object protected by object lock."
    verdict, error = _s3("AccessDenied", 403, text, "DeleteObject", None)
    assert (verdict, type(error)) == (Verdict.PERMANENT, RetentionError)


@pytest.mark.parametrize("store", ANSWERED)
def test_a_lost_race_stays_one(store: str) -> None:
    answered, writes = ANSWERED[store]
    code, status = {
        "s3": ("PreconditionFailed", 412),
        "gcs": ("conditionNotMet", 412),
        "azure": ("BlobAlreadyExists", 409),
    }[store]
    for operation in writes:
        assert answered(code, status, "", operation, IfAbsent())[0] is Verdict.REFUSED


def test_it_is_a_store_error_of_its_own() -> None:
    assert issubclass(RetentionError, StoreError)
    assert not issubclass(RetentionError, MissingCapability)
