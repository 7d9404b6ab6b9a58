"""What an answer of Cloud Storage means: one pure function, and the errors made of it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from scenemosaic.errors import PermanentStoreError, RetentionError, StoreError, TransientStoreError
from scenemosaic.stores.port import Condition
from scenemosaic.stores.s3_answers import Verdict
from scenemosaic.waiting.retry_after import retry_after_s
from scenemosaic.waiting.service_clock import clock_advice

WRITES = ("InsertObject", "StartUpload", "UploadChunk")
READS = ("GetObject", "ReadObject")
# A throttle may come as 403 with one of these.
_THROTTLED = ("rateLimitExceeded", "userRateLimitExceeded")
_TRANSIENT = (408, 429)
# An organisation's policy answers 412 too, and is no lost race.
_POLICY = ("orgPolicyConstraintFailed",)
_RETAINED = ("retentionPolicyNotMet", "objectUnderActiveHold")
_RETAINED_TEXT = re.compile(r"subject to .{0,40}retention|under active .{0,20}hold", re.IGNORECASE)
# 499 is how Cloud Storage says that a session was cancelled.
_SESSION_GONE = (404, 410, 499)


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer that is no success, as far as it is told."""

    status: int
    reason: str
    message: str
    request_id: str
    retry_after_s: float | None
    clock: str = ""  # advice, where this machine's is off


def classify(
    reason: str, message: str, http_status: int, operation: str, condition: Condition | None
) -> Verdict:
    """What the error of ``operation`` means; for a write TRANSIENT is ambiguous.

    A missing bucket and a missing object share a code, so there the message decides.
    A 412 to IfMatch may also mean that no object is there: the caller looks.
    """
    if reason in _THROTTLED or http_status in _TRANSIENT or http_status >= 500:
        # 501 is no hiccup: the request is not known there.
        return Verdict.PERMANENT if http_status == 501 else Verdict.TRANSIENT
    if reason in _POLICY:
        return Verdict.PERMANENT
    if operation in WRITES and condition is not None:
        return _of_write(http_status, operation)
    if operation == "CancelUpload" and http_status in _SESSION_GONE:
        return Verdict.ABSENT
    if operation == "DeleteObject" and http_status == 404:
        return Verdict.ABSENT
    if operation in READS:
        return _of_read(message, http_status)
    return Verdict.TRANSIENT if http_status < 300 else Verdict.PERMANENT


def _of_write(http_status: int, operation: str) -> Verdict:
    if http_status == 412:
        return Verdict.REFUSED
    if http_status == 409:
        return Verdict.RACING
    if operation == "UploadChunk" and http_status in _SESSION_GONE:
        # Only the session is gone. It may have been finished by a request whose reply was lost.
        return Verdict.TRANSIENT
    return Verdict.TRANSIENT if http_status < 300 else Verdict.PERMANENT


def _of_read(message: str, http_status: int) -> Verdict:
    if http_status == 404:
        return Verdict.PERMANENT if "bucket does not exist" in message else Verdict.ABSENT
    if http_status == 412:
        return Verdict.CHANGED
    if http_status == 416:
        return Verdict.PAST_END
    return Verdict.TRANSIENT if http_status < 300 else Verdict.PERMANENT


def failure_of(status: int, headers: Mapping[str, str], text: str) -> Failure:
    """What an answer says of itself: JSON where it is, else its text."""
    reason, message = _told(text)
    return Failure(
        status=status,
        reason=reason,
        message=message,
        request_id=headers.get("X-GUploader-UploadID", ""),
        retry_after_s=retry_after_s(headers),
        clock=clock_advice(headers),
    )


def _told(text: str) -> tuple[str, str]:
    try:
        error = json.loads(text)["error"]
        reasons = error.get("errors") or [{}]
        return str(reasons[0].get("reason", "")), str(error.get("message", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", text.strip()[:200]


def answered_error(verdict: Verdict, failure: Failure, operation: str, named: str) -> StoreError:
    """The error of a TRANSIENT or PERMANENT answer: operation, key, code, status, request ID."""
    message = (
        f"{operation} of {named}: {failure.reason or 'error'}: {without_queries(failure.message)} "
        f"(HTTP {failure.status}, request ID {failure.request_id or 'none'})"
        f"{_advice(failure)}"
    )
    if verdict is Verdict.TRANSIENT:
        return TransientStoreError(message, failure.retry_after_s)
    return RetentionError(message) if is_retained(failure) else PermanentStoreError(message)


def is_retained(failure: Failure) -> bool:
    """Whether a retention policy or a hold forbids the request, and no missing role."""
    if failure.reason in _RETAINED:
        return True
    return failure.status == 403 and _RETAINED_TEXT.search(failure.message) is not None


def _advice(failure: Failure) -> str:
    if is_retained(failure):
        return "; a retention policy or a hold keeps this object as it is, until it ends"
    if failure.status == 404:
        return "; make the bucket, or choose another root"
    if failure.status in (401, 403):
        return failure.clock or "; check the credentials and their roles"
    return ""


def without_queries(text: str) -> str:
    """``text`` without the queries of URLs: a session's URL lets anybody write to it."""
    return re.sub(r"\?[^\s'\")]+", "?…", text)
