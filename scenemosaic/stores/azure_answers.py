"""What an answer of Azure Blob Storage means: one pure function, and the errors made of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from scenemosaic.errors import (
    MissingCapability,
    PermanentStoreError,
    RetentionError,
    StoreError,
    TransientStoreError,
)
from scenemosaic.stores.port import Condition
from scenemosaic.stores.s3_answers import Verdict
from scenemosaic.waiting.retry_after import retry_after_s
from scenemosaic.waiting.service_clock import clock_advice

WRITES = ("PutBlob", "PutBlockList")
READS = ("GetBlobProperties", "GetBlob", "GetBlockList", "PutBlockFromURL")
_REFUSED = ("BlobAlreadyExists", "ConditionNotMet", "TargetConditionNotMet")
_NO_BLOB = ("BlobNotFound", "ResourceNotFound", "CannotVerifyCopySource")
_CHANGED = ("ConditionNotMet", "SourceConditionNotMet")
_PAST_END = ("InvalidRange",)
_HELD = ("BlobImmutable", "ContainerHasLegalHold", "ContainerImmutabilityPolicy")
_ARCHIVED = ("BlobArchived", "BlobBeingRehydrated")
_TRANSIENT = ("InternalError", "OperationTimedOut", "ServerBusy")


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer that is no success, as far as it is told."""

    status: int
    code: str
    message: str
    request_id: str
    retry_after_s: float | None
    clock: str = ""  # advice, where this machine's is off


def classify(code: str, http_status: int, operation: str, condition: Condition | None) -> Verdict:
    """What the error ``code`` of ``operation`` means; the status only where there is no code.

    A lease or an immutability policy answers 409 and 412 as well, and is no refusal:
    PERMANENT. A 412 to IfMatch may also mean that no blob is there: the caller looks.
    """
    if code in _TRANSIENT or (http_status >= 500 and http_status != 501):
        return Verdict.TRANSIENT
    verdict = None
    if operation in WRITES and condition is not None:
        verdict = _of_write(code, http_status)
    elif operation in READS or operation == "DeleteBlob":
        verdict = _of_read(code, http_status)
    return verdict or _of_status(http_status)


def _of_write(code: str, http_status: int) -> Verdict | None:
    if code in _REFUSED or (not code and http_status == 412):
        return Verdict.REFUSED
    if code == "BlobNotFound":
        return Verdict.GONE
    # Another writer's commit throws away every block that is not committed.
    if code == "InvalidBlockList":
        return Verdict.RACING
    return None


def _of_read(code: str, http_status: int) -> Verdict | None:
    if http_status == 404 and (not code or code in _NO_BLOB):
        return Verdict.ABSENT
    if code in _CHANGED or (not code and http_status == 412):
        return Verdict.CHANGED
    if code in _PAST_END or http_status == 416:
        return Verdict.PAST_END
    return None


def _of_status(http_status: int) -> Verdict:
    if http_status in (408, 429) or http_status < 300:
        return Verdict.TRANSIENT
    return Verdict.PERMANENT


def failure_of(status: int, headers: Mapping[str, str], message: str) -> Failure:
    """What an answer says of itself; a HEAD has its code in a header only."""
    # What follows the first line may quote the request, signature included.
    first = message.strip().partition("\n")[0]
    return Failure(
        status=status,
        code=headers.get("x-ms-error-code", ""),
        message=without_queries(first)[:200],
        request_id=headers.get("x-ms-request-id", ""),
        retry_after_s=retry_after_s(headers),
        clock=clock_advice(headers),
    )


def answered_error(verdict: Verdict, failure: Failure, operation: str, named: str) -> StoreError:
    """The error of a TRANSIENT or PERMANENT answer: operation, key, code, status, request ID."""
    message = (
        f"{operation} of {named}: {failure.code or 'error'}: {failure.message} "
        f"(HTTP {failure.status}, request ID {failure.request_id or 'none'})"
        f"{_advice(failure)}"
    )
    if verdict is Verdict.TRANSIENT:
        return TransientStoreError(message, failure.retry_after_s)
    if failure.status == 501:
        return MissingCapability(message)
    return RetentionError(message) if is_retained(failure.code) else PermanentStoreError(message)


def is_retained(code: str) -> bool:
    """Whether a policy, a hold, a lease or the archive tier forbids the request.

    These answer 409 and 412, as a lost race does, and are none.
    """
    return code.startswith((*_HELD, "Lease")) or code in _ARCHIVED


def _advice(failure: Failure) -> str:
    code = failure.code
    if code.startswith(_HELD):
        return "; an immutability policy or a legal hold keeps this blob as it is, until it ends"
    if code in _ARCHIVED:
        return "; it lies in the archive tier: rehydrate it first"
    if code.startswith("Container"):
        return "; make the container, or choose another root"
    if code.startswith("Lease"):
        return "; somebody holds a lease on this blob: release it, or choose another root"
    if failure.status in (401, 403):
        return failure.clock or "; check the connection string or the identity's roles"
    return ""


def without_queries(text: str) -> str:
    """``text`` without the queries of URLs: they may hold a signature."""
    return re.sub(r"\?[^\s'\")]+", "?…", text)
