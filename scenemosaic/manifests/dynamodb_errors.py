"""What a DynamoDB error means: a refusal, try again, or give up. Pure."""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    ConnectionError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.parsers import ResponseParserError

from scenemosaic.access import UNREACHED
from scenemosaic.errors import MissingSchema, PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.waiting.retry_after import retry_after_s
from scenemosaic.waiting.service_clock import clock_advice

# ResponseParserError is no BotoCoreError.
SDK_ERRORS = (ClientError, BotoCoreError, ResponseParserError)
_REFUSED = ("ConditionalCheckFailedException", "ResourceInUseException")
_TRANSIENT_CODES = frozenset(
    {
        "InternalServerError",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
_THROTTLED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
    }
)
_LOST = (
    ChecksumError,
    ConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ResponseParserError,
)
_ADVICE: Mapping[type[Exception], str] = {
    NoCredentialsError: "; set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    PartialCredentialsError: "; set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    EndpointConnectionError: UNREACHED,
}


class Refused(Exception):
    """The condition does not hold; ``item`` is what stands there, empty where it was not sent."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        super().__init__("refused")
        self.item = dict(item)


def code_of(error: Exception) -> str:
    """The provider's code, ``""`` where the error did not come from the provider."""
    if not isinstance(error, ClientError):
        return ""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_throttled(error: BaseException | None) -> bool:
    """Whether the provider takes no more requests for now."""
    return isinstance(error, ClientError) and code_of(error) in _THROTTLED


def classify(operation: str, subject: str, error: Exception) -> StoreError | Refused:
    """The error to raise where ``operation`` on ``subject`` (table and key) ended with ``error``.

    A transient one is ambiguous: the request may have landed, or may land later.
    """
    if isinstance(error, ClientError):
        if code_of(error) in _REFUSED:
            answer: Mapping[str, Any] = error.response
            return Refused(answer.get("Item") or {})
        return _classify_answer(operation, subject, error)
    message = f"DynamoDB {operation} on {subject}: {error}{_ADVICE.get(type(error), '')}"
    if isinstance(error, _LOST):
        return TransientStoreError(message)
    return PermanentStoreError(message)


def _classify_answer(operation: str, subject: str, error: ClientError) -> StoreError:
    answer: Mapping[str, Any] = error.response
    sent = answer.get("ResponseMetadata", {})
    code, status = code_of(error), int(sent.get("HTTPStatusCode") or 0)
    message = (
        f"DynamoDB {operation} on {subject}: {code} (HTTP {status}, "
        f"request {sent.get('RequestId') or 'without ID'}): "
        f"{answer.get('Error', {}).get('Message') or 'no reason given'}"
    )
    if code in _TRANSIENT_CODES or status >= 500 or status == 429:
        return TransientStoreError(message, retry_after_s(sent.get("HTTPHeaders", {})))
    if code == "ResourceNotFoundException":
        return MissingSchema(f"{message}; run `scenemosaic init` to make the table")
    if operation == "CreateTable" and code.startswith("AccessDenied"):
        message += "; `scenemosaic init` must be run by someone with dynamodb:CreateTable"
    return PermanentStoreError(message + clock_advice(sent.get("HTTPHeaders", {})))
