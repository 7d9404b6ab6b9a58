"""Amazon SQS as a queue. Its redrive policy moves what was delivered too often; we never do."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError

from scenemosaic.errors import InputError, PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.queues.port import Message
from scenemosaic.waiting.boto_sessions import boto_client
from scenemosaic.waiting.retry import Effects, RetryPolicy, retrying, system_effects

MOST_AT_ONCE: Final = 10
MOST_WAIT_S: Final = 20
_URL: Final = re.compile(r"https?://[^/@?#\s]+/[^?#\s]+")
_REGION: Final = re.compile(r"https?://sqs(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws|api\.aws)")
_CONNECTIONS: Final = 64
_GONE: Final = frozenset({"ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"})
T = TypeVar("T")


class SqsQueue:
    """The queue at ``url``; its client comes from the SDK's standard environment.

    ``hidden_s`` overrides the queue's own visibility time-out. Raises InputError where the
    URL is none.
    """

    def __init__(
        self,
        url: str,
        hidden_s: int = 300,
        client: Any = None,
        policy: RetryPolicy | None = None,
        effects: Effects | None = None,
    ) -> None:
        if not _URL.fullmatch(url):
            raise InputError("a queue is given by its URL, https://sqs.REGION.amazonaws.com/…")
        self.url, self.hidden_s = url, hidden_s
        self._client = client or _client(url)
        self._policy, self._effects = policy or RetryPolicy(), effects or system_effects()

    def receive(self, at_most: int, wait_s: int) -> list[Message]:
        answer = self._call(
            "ReceiveMessage",
            lambda: self._client.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=min(at_most, MOST_AT_ONCE),
                WaitTimeSeconds=min(wait_s, MOST_WAIT_S),
                VisibilityTimeout=self.hidden_s,
                MessageSystemAttributeNames=["ApproximateReceiveCount"],
            ),
        )
        return [_message(one) for one in answer.get("Messages", ())]

    def acknowledge(self, message: Message) -> None:
        self._call(
            "DeleteMessage",
            lambda: self._client.delete_message(QueueUrl=self.url, ReceiptHandle=message.receipt),
        )

    def keep(self, message: Message) -> None:
        self._call(
            "ChangeMessageVisibility",
            lambda: self._client.change_message_visibility(
                QueueUrl=self.url, ReceiptHandle=message.receipt, VisibilityTimeout=self.hidden_s
            ),
        )

    def close(self) -> None:
        self._client.close()

    def _call(self, operation: str, send: Callable[[], T]) -> T | dict[str, Any]:
        def once() -> T | dict[str, Any]:
            try:
                return send()
            except (ClientError, BotoCoreError) as error:
                # Delivered to another in the meantime, or dealt with: nothing is left to do.
                if _code(error) in _GONE and operation != "ReceiveMessage":
                    return {}
                raise self._error(operation, error) from error

        # Each of these may land twice.
        return retrying(once, self._policy, self._effects)

    def _error(self, operation: str, error: Exception) -> StoreError:
        text = f"SQS {operation} on {self.url}: {error}"
        status = _status(error)
        busy = status >= 500 or status == 429 or "Throttl" in _code(error)
        if busy or isinstance(error, ConnectionError | HTTPClientError):
            return TransientStoreError(text)
        return PermanentStoreError(text)


def _client(url: str) -> Any:
    endpoint, region = "/".join(url.split("/")[:3]), _REGION.match(url)
    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=10,
        read_timeout=MOST_WAIT_S + 10,
        max_pool_connections=_CONNECTIONS,
    )
    # The URL's own host: with an endpoint of another one SQS would be asked elsewhere.
    at = region[1] if region else None
    return boto_client("sqs", url, config, endpoint=endpoint, region=at)


def _message(one: Mapping[str, Any]) -> Message:
    count = one.get("Attributes", {}).get("ApproximateReceiveCount", "1")
    return Message(one["MessageId"], one["Body"], one["ReceiptHandle"], int(count))


def _code(error: Exception) -> str:
    """As SQS names it today; older names come with a prefix, ``AWS.SimpleQueueService.``."""
    return str(_response(error).get("Error", {}).get("Code", "")).rpartition(".")[2]


def _status(error: Exception) -> int:
    return int(_response(error).get("ResponseMetadata", {}).get("HTTPStatusCode") or 0)


def _response(error: Exception) -> Mapping[str, Any]:
    return getattr(error, "response", None) or {}
