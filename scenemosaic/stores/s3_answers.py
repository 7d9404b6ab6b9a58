"""What an answer of S3 means: one pure function, and the errors made of it."""

import enum
from collections.abc import Mapping
from typing import Any

from scenemosaic.errors import (
    MissingCapability,
    PermanentStoreError,
    RetentionError,
    StoreError,
    TransientStoreError,
)
from scenemosaic.stores.port import Answer, Condition, IfMatch
from scenemosaic.waiting.retry_after import retry_after_s
from scenemosaic.waiting.service_clock import clock_advice


class Verdict(enum.Enum):
    """What an answer means. TRANSIENT, for a write, is ambiguous: it may have landed."""

    OK = "ok"
    REFUSED = "refused"
    RACING = "racing"
    GONE = "gone"
    ABSENT = "absent"
    CHANGED = "changed"  # a read's or copy's pinned ETag is not the current one
    PAST_END = "past-end"
    TRANSIENT = "transient"
    PERMANENT = "permanent"


ANSWERS: Mapping[Verdict, Answer] = {
    Verdict.OK: Answer.WRITTEN,
    Verdict.REFUSED: Answer.REFUSED,
    Verdict.RACING: Answer.RACING,
    Verdict.GONE: Answer.GONE,
}

_CONDITIONAL = ("PutObject", "CompleteMultipartUpload")
_READS = ("HeadObject", "GetObject", "UploadPartCopy")
# HEAD has no body, so botocore gives the status for a code.
_NO_KEY = ("NoSuchKey", "NotFound", "404")
_FAILED = ("PreconditionFailed", "412")
_CONFLICT = ("ConditionalRequestConflict", "OperationAborted", "Conflict", "409")
_ARCHIVED = ("InvalidObjectState", "ObjectNotInActiveTierError")
_MAY_BE_LOCKED = ("AccessDenied", "InvalidRequest", "MethodNotAllowed", "ObjectLocked")
# A missing permission names an action, such as s3:PutObjectRetention, and has none of these.
_OBJECT_LOCK = ("object lock", "objectlockconfiguration", "worm protected", "worm-protected")
_PERMANENT = ("NoSuchBucket", "NotImplemented", "501")
_TRANSIENT = (
    "BandwidthLimitExceeded",
    "IncompleteBody",
    "InternalError",
    "PriorRequestNotComplete",
    "RequestLimitExceeded",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequests",
    "TooManyRequestsException",
)


# Of a part it means that somebody ended the upload: all parts are gone, a new upload is needed.
# Of a Complete it may as well mean that an earlier Complete of the same upload landed.
_NO_UPLOAD: Mapping[str, Verdict] = {
    "AbortMultipartUpload": Verdict.ABSENT,
    **dict.fromkeys(("UploadPart", "UploadPartCopy", "ListParts"), Verdict.RACING),
}


def classify(code: str, http_status: int, operation: str, condition: Condition | None) -> Verdict:
    """What the error ``code`` of ``operation`` means; the status only where the code says nothing.

    The code goes first, since a Complete can answer 200 with an error in its body,
    and RequestTimeout comes as a 400. Anything unknown below 300 is ambiguous.
    """
    if code in _PERMANENT:
        return Verdict.PERMANENT
    if code in _TRANSIENT:
        return Verdict.TRANSIENT
    if code == "NoSuchUpload":
        return _NO_UPLOAD.get(operation, Verdict.TRANSIENT)
    verdict = None
    if operation in _CONDITIONAL and condition is not None:
        verdict = _of_write(code, http_status, condition)
    elif operation in _READS:
        verdict = _of_read(code, http_status)
    return verdict or _of_status(http_status)


def _of_write(code: str, http_status: int, condition: Condition) -> Verdict | None:
    if code in _FAILED or http_status == 412:
        return Verdict.REFUSED
    if code in _CONFLICT:
        return Verdict.RACING
    if code in _NO_KEY and isinstance(condition, IfMatch):
        return Verdict.GONE
    return None


def _of_read(code: str, http_status: int) -> Verdict | None:
    if code in _NO_KEY:
        return Verdict.ABSENT
    if code in _FAILED or http_status == 412:
        return Verdict.CHANGED
    if code == "InvalidRange" or http_status == 416:
        return Verdict.PAST_END
    return None


def _of_status(http_status: int) -> Verdict:
    if http_status == 501:
        return Verdict.PERMANENT
    if http_status >= 500 or http_status in (408, 429) or http_status < 300:
        return Verdict.TRANSIENT
    return Verdict.PERMANENT


def code_of(response: Mapping[str, Any]) -> str:
    return str(response.get("Error", {}).get("Code", ""))


def status_of(response: Mapping[str, Any]) -> int:
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def request_id_of(response: Mapping[str, Any]) -> str:
    return str(response.get("ResponseMetadata", {}).get("RequestId", ""))


def answered_error(
    verdict: Verdict, response: Mapping[str, Any], operation: str, named: str
) -> StoreError:
    """The error of a TRANSIENT or PERMANENT answer: operation, key, code, status, request ID."""
    code, status, said = code_of(response), status_of(response), _message_of(response)
    message = (
        f"{operation} of {named}: {code} {said} (HTTP {status}, "
        f"request ID {request_id_of(response) or 'none'}){_advice(response)}"
    )
    if verdict is Verdict.TRANSIENT:
        return TransientStoreError(message, retry_after_s(_headers_of(response)))
    if is_retained(code, said):
        return RetentionError(message)
    if code == "NotImplemented" or status == 501:
        return MissingCapability(message)
    return PermanentStoreError(message)


def is_retained(code: str, message: str) -> bool:
    """Whether Object Lock or an archive class forbids the request, and no missing permission.

    S3 has no code of its own for the former: AccessDenied and InvalidRequest, told by their text.
    """
    told = any(words in message.lower() for words in _OBJECT_LOCK)
    return code in _ARCHIVED or (code in _MAY_BE_LOCKED and told)


def _headers_of(response: Mapping[str, Any]) -> Mapping[str, str]:
    found: Mapping[str, str] = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return found


def _message_of(response: Mapping[str, Any]) -> str:
    return str(response.get("Error", {}).get("Message", ""))


def _advice(response: Mapping[str, Any]) -> str:
    code, status, message = code_of(response), status_of(response), _message_of(response)
    if code in _ARCHIVED:
        return "; it lies in an archive class: restore it first"
    if is_retained(code, message):
        return "; the bucket's Object Lock forbids it: look at its retention and legal holds"
    if code == "NoSuchBucket":
        return "; make the bucket, or choose another root"
    if status in (400, 401, 403) and (clock := clock_advice(_headers_of(response))):
        return clock
    if status in (401, 403):
        return "; check the credentials, their permissions and the bucket's policy"
    if status in (301, 307, 400) and code in ("PermanentRedirect", "301", "400"):
        return "; check the region and the endpoint"
    return ""
