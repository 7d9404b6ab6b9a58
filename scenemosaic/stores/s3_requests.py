"""One S3 request: sent once, its failure told apart; and the client that sends it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    EndpointConnectionError,
    FlexibleChecksumError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
    ResponseStreamingError,
)
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError

from scenemosaic.access import ENVIRONMENT, UNREACHED, Access
from scenemosaic.crc32 import crc32
from scenemosaic.errors import PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.stores.port import Condition, IfAbsent
from scenemosaic.stores.s3_answers import (
    Verdict,
    answered_error,
    classify,
    code_of,
    request_id_of,
    status_of,
)
from scenemosaic.waiting.boto_deadlines import timed_client
from scenemosaic.waiting.boto_sessions import boto_client
from scenemosaic.waiting.deadlines import Deadlines, Ending, within

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# botocore lets urllib3's own error through where an error's body breaks off: of a GetObject.
_LOST = (
    ConnectionError,
    FlexibleChecksumError,
    HTTPClientError,
    HTTPError,
    IncompleteReadError,
    ResponseParserError,
    ResponseStreamingError,
)
_ADVICE: Mapping[type[BaseException], str] = {EndpointConnectionError: UNREACHED}


@dataclass(frozen=True, slots=True)
class S3Options:
    """What a bucket may demand of its clients. Nothing is set where nothing is given."""

    sse_kms_key_id: str | None = None
    storage_class: str | None = None
    tags: tuple[tuple[str, str], ...] = ()
    requester_pays: bool = False
    addressing: Literal["auto", "path", "virtual"] = "auto"

    def for_every_request(self) -> dict[str, str]:
        return {"RequestPayer": "requester"} if self.requester_pays else {}

    def for_new_object(self) -> dict[str, str]:
        """Parameters of PutObject and CreateMultipartUpload."""
        chosen: dict[str, str] = {}
        if self.sse_kms_key_id:
            chosen |= {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": self.sse_kms_key_id}
        if self.storage_class:
            chosen["StorageClass"] = self.storage_class
        if self.tags:
            chosen["Tagging"] = urlencode(self.tags)
        return chosen


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that the caller decides on; never TRANSIENT or PERMANENT."""

    verdict: Verdict
    response: Mapping[str, Any]

    @property
    def request_id(self) -> str:
        return request_id_of(self.response)


class Requests:
    """Sends requests to one bucket, one attempt each."""

    def __init__(
        self,
        client: "S3Client",
        bucket: str,
        options: S3Options,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._client = client
        self._bucket = bucket
        self.options = options
        self._deadlines = deadlines or Deadlines()

    def send(
        self,
        operation: str,
        named: str,
        condition: Condition | None = None,
        copied_bytes: int = 0,
        **parameters: Any,
    ) -> Reply:
        """The reply. Raises TransientStoreError or PermanentStoreError, naming ``named``.

        ``copied_bytes`` is what S3 itself has to copy before it answers.
        """
        method = getattr(self._client, xform_name(operation))
        chosen = self.options.for_every_request() | condition_parameters(condition)
        with within(self._deadlines, self._total_s(operation, copied_bytes)) as ending:
            try:
                response = method(Bucket=self._bucket, **chosen, **parameters)
            except ClientError as error:
                return self._judge(error, operation, named, condition)
            except (BotoCoreError, ResponseParserError, HTTPError) as error:
                raise unanswered_error(error, operation, named, ending) from error
        return Reply(Verdict.OK, response)

    def _total_s(self, operation: str, copied_bytes: int) -> float:
        if operation == "CompleteMultipartUpload":
            return self._deadlines.finish_s
        return self._deadlines.copying_s(copied_bytes)

    def _judge(
        self, error: ClientError, operation: str, named: str, condition: Condition | None
    ) -> Reply:
        response: Mapping[str, Any] = error.response
        verdict = classify(code_of(response), status_of(response), operation, condition)
        if verdict in (Verdict.TRANSIENT, Verdict.PERMANENT):
            raise answered_error(verdict, response, operation, named) from error
        return Reply(verdict, response)

    def read(self, reply: Reply, named: str) -> bytes:
        """The whole body of a GetObject's reply."""
        with within(self._deadlines) as ending:
            try:
                return bytes(reply.response["Body"].read())
            except (BotoCoreError, HTTPError) as error:
                raise unanswered_error(error, "GetObject", named, ending) from error

    def checksum_of(self, data: bytes) -> dict[str, str]:
        """The checksum that botocore would add to an upload at a tenth of the speed, if it would.

        Settings for stores that take none (``when_required``) hold.
        """
        config: Any = self._client.meta.config  # whose type hints do not know it
        if config.request_checksum_calculation != "when_supported":
            return {}
        crc = crc32(data).to_bytes(4, "big")
        return {"ChecksumCRC32": base64.b64encode(crc).decode()}

    def copy_source(self, full_key: str) -> dict[str, str]:
        # botocore percent-encodes the parts of a dict, and leaves a string as it is.
        return {"Bucket": self._bucket, "Key": full_key}

    def close(self) -> None:
        self._client.close()


def condition_parameters(condition: Condition | None) -> dict[str, str]:
    """The request parameters that make a write conditional."""
    if condition is None:
        return {}
    if isinstance(condition, IfAbsent):
        return {"IfNoneMatch": "*"}
    return {"IfMatch": condition.etag}


def unanswered_error(error: Exception, operation: str, named: str, ending: Ending) -> StoreError:
    """The error of a request that got no answer: transient where the network lost it."""
    if ending.over:
        return TransientStoreError(f"{operation} of {named}: {ending}")
    if isinstance(error, _LOST):
        return TransientStoreError(f"{operation} of {named}: {error}{_ADVICE.get(type(error), '')}")
    if isinstance(error, NoCredentialsError):
        return PermanentStoreError(
            f"{operation} of {named}: no AWS credentials were found; set AWS_PROFILE, or "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    return PermanentStoreError(f"{operation} of {named}: {error}")


def options_of(access: Access) -> S3Options:
    """What a bucket demands, as a block says it."""
    return S3Options(
        access.encryption_key, access.storage_class, access.tags, access.requester_pays
    )


def make_client(
    options: S3Options,
    named: str,
    deadlines: Deadlines | None = None,
    access: Access = ENVIRONMENT,
) -> "S3Client":
    """A client, with one attempt a request, from the SDK's standard environment or ``access``."""
    deadlines = deadlines or Deadlines()
    config = Config(
        # total_max_attempts counts the first one; max_attempts would count re-sends only.
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=deadlines.connect_s,
        read_timeout=deadlines.silence_s,
        max_pool_connections=32,
        tcp_keepalive=True,
        s3={"addressing_style": options.addressing},
    )
    client: S3Client = boto_client("s3", named, config, access)
    return timed_client(client)
