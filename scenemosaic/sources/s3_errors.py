"""What an error means where a source on S3 is asked for: try again, or give up."""

from collections.abc import Mapping
from typing import Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    PartialCredentialsError,
    ProfileNotFound,
)
from botocore.parsers import ResponseParserError

from scenemosaic.access import UNREACHED
from scenemosaic.errors import PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.sources.web import is_transient
from scenemosaic.waiting.retry_after import retry_after_s
from scenemosaic.waiting.service_clock import clock_advice

# ResponseParserError is no BotoCoreError; a call that took too long ends by an OSError.
S3_ERRORS: Final = (ClientError, BotoCoreError, ResponseParserError, OSError)
_FOR_GOOD: Final = (NoRegionError, ParamValidationError, PartialCredentialsError, ProfileNotFound)
_ADVICE: Final[Mapping[type[Exception], str]] = {EndpointConnectionError: UNREACHED}


def s3_error(subject: str, error: Exception) -> StoreError:
    """The error to raise where a request to S3 ended with one of :data:`S3_ERRORS`."""
    if isinstance(error, ClientError):
        return _answered(subject, error)
    if isinstance(error, NoCredentialsError):
        return PermanentStoreError(f"{subject}: no AWS credentials were found")
    kind = PermanentStoreError if isinstance(error, _FOR_GOOD) else TransientStoreError
    return kind(f"{subject}: {error}{_ADVICE.get(type(error), '')}")


def status_of(error: Exception) -> int:
    """The HTTP status of S3's answer, 0 where there was none."""
    return int(_meta(error).get("HTTPStatusCode") or 0)


def _answered(subject: str, error: ClientError) -> StoreError:
    status, meta = status_of(error), _meta(error)
    code = error.response.get("Error", {}).get("Code", "")
    text = f"{subject}: {status} {code} (request {meta.get('RequestId', '?')})"
    if is_transient(status):
        return TransientStoreError(text, retry_after_s(meta.get("HTTPHeaders", {})))
    return PermanentStoreError(text + clock_advice(meta.get("HTTPHeaders", {})))


def _meta(error: Exception) -> Mapping[str, Any]:
    answer: Mapping[str, Any] = error.response if isinstance(error, ClientError) else {}
    meta: Mapping[str, Any] = answer.get("ResponseMetadata", {})
    return meta
