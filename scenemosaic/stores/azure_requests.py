"""One request of Azure Blob Storage: sent once, its failure told apart; and its client."""

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import requests
from azure.core import MatchConditions
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    IncompleteReadError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.core.pipeline.transport import RequestsTransport
from azure.storage.blob import (
    BlobClient,
    BlobSasPermissions,
    BlobServiceClient,
    ContainerClient,
    ContentSettings,
    StandardBlobTier,
    generate_blob_sas,
)

from scenemosaic.access import Access
from scenemosaic.errors import PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.stores.azure_answers import (
    answered_error,
    classify,
    failure_of,
    without_queries,
)
from scenemosaic.stores.port import Condition, IfAbsent
from scenemosaic.stores.s3_answers import Verdict
from scenemosaic.stores.timed_adapter import TimedAdapter
from scenemosaic.waiting.deadlines import Deadlines, Ending, within

T = TypeVar("T")
# What one Put Blob takes: nothing that goes through upload_blob is ever cut into blocks.
SINGLE_PUT_BYTES = 5000 << 20
SOURCE_SAS_VALID = timedelta(hours=1)

_LOST = (IncompleteReadError, ServiceRequestError, ServiceResponseError)


@dataclass(frozen=True, slots=True)
class AzureOptions:
    """What a container may demand of its clients. Nothing is set where nothing is given."""

    access_tier: str | None = None
    encryption_scope: str | None = None
    tags: tuple[tuple[str, str], ...] = ()

    def for_new_object(self) -> dict[str, Any]:
        """Arguments of upload_blob and commit_block_list."""
        chosen: dict[str, Any] = {}
        if self.access_tier:
            chosen["standard_blob_tier"] = StandardBlobTier(self.access_tier)
        if self.tags:
            chosen["tags"] = dict(self.tags)
        return chosen | self.for_blocks()

    def for_blocks(self) -> dict[str, Any]:
        return {"encryption_scope": self.encryption_scope} if self.encryption_scope else {}


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """An answer that the caller decides on; never TRANSIENT or PERMANENT."""

    verdict: Verdict
    value: T | None = None
    request_id: str = ""

    @property
    def found(self) -> T:
        """What a success holds."""
        if self.value is None:
            raise TransientStoreError(f"an answer without content ({self.verdict.value})")
        return self.value


class Requests:
    """Sends requests to one container, one attempt each."""

    def __init__(
        self,
        container: ContainerClient,
        options: AzureOptions,
        deadlines: Deadlines | None = None,
    ) -> None:
        self.container = container
        self.options = options
        self.deadlines = deadlines or Deadlines()

    def blob(self, full_key: str) -> BlobClient:
        return self.container.get_blob_client(full_key)

    def send(
        self,
        operation: str,
        named: str,
        condition: Condition | None,
        call: Callable[[], T],
        total_s: float | None = None,
    ) -> Reply[T]:
        """The reply. Raises TransientStoreError or PermanentStoreError, naming ``named``.

        ``total_s`` is the call's deadline where it is not the usual one.
        """
        with within(self.deadlines, total_s) as ending:
            try:
                return Reply(Verdict.OK, call())
            except HttpResponseError as error:
                return _judge(error, operation, named, condition)
            except AzureError as error:
                raise unanswered_error(error, operation, named, ending) from None

    def source_url(self, full_key: str, now: datetime) -> str | None:
        """A URL by which the store itself may read a blob for an hour; it is a secret.

        None where only an access token is at hand, which signs nothing.
        """
        blob = self.blob(full_key)
        account_key = getattr(blob.credential, "account_key", None)
        if account_key is None or blob.account_name is None:
            return blob.url if "sig=" in blob.url else None
        signature = generate_blob_sas(
            account_name=blob.account_name,
            container_name=blob.container_name,
            blob_name=blob.blob_name,
            account_key=account_key,
            permission=BlobSasPermissions(read=True),
            expiry=now + SOURCE_SAS_VALID,
        )
        return f"{blob.url}?{signature}"

    def close(self) -> None:
        self.container.close()


def _judge(
    error: HttpResponseError, operation: str, named: str, condition: Condition | None
) -> Reply[Any]:
    if error.response is None and isinstance(error, ClientAuthenticationError):
        raise PermanentStoreError(
            f"{operation} of {named}: the account key or credential signs nothing "
            f"({type(error).__name__}); copy it again from the account's access keys"
        ) from None
    headers: Mapping[str, str] = getattr(error.response, "headers", {})
    failure = failure_of(error.status_code or 0, headers, error.message or "")
    verdict = classify(failure.code, failure.status, operation, condition)
    if verdict in (Verdict.TRANSIENT, Verdict.PERMANENT):
        # The SDK's own error is left out: it may quote what was signed.
        raise answered_error(verdict, failure, operation, named) from None
    return Reply(verdict, None, failure.request_id)


def condition_arguments(condition: Condition) -> dict[str, Any]:
    """The arguments that make a write conditional."""
    if isinstance(condition, IfAbsent):
        return {"match_condition": MatchConditions.IfMissing}
    return {"match_condition": MatchConditions.IfNotModified, "etag": quoted(condition.etag)}


def quoted(etag: str) -> str:
    """An ETag in quotes, as headers have it; listings leave them out."""
    return f'"{etag.strip(chr(34))}"'


def content_arguments(content_type: str, metadata: Mapping[str, str]) -> dict[str, Any]:
    return {
        "content_settings": ContentSettings(content_type=content_type),
        "metadata": dict(metadata),
    }


def unanswered_error(error: AzureError, operation: str, named: str, ending: Ending) -> StoreError:
    """The error of a request that got no answer: transient where the network lost it."""
    if ending.over:
        return TransientStoreError(f"{operation} of {named}: {ending}")
    message = f"{operation} of {named}: {without_queries(str(error.message))}"
    if isinstance(error, _LOST):
        return TransientStoreError(message)
    return PermanentStoreError(f"{message} ({type(error).__name__})")


def options_of(access: Access) -> AzureOptions:
    """What a container demands, as a block says it."""
    return AzureOptions(access.storage_class, access.encryption_key, access.tags)


def make_service(
    environment: Mapping[str, str], named: str, deadlines: Deadlines | None = None
) -> BlobServiceClient:
    """A client of what the environment says, with one attempt a request."""
    deadlines = deadlines or Deadlines()
    settings: dict[str, Any] = {
        "retry_total": 0,
        "transport": _transport(deadlines),
        "max_single_put_size": SINGLE_PUT_BYTES,
    }
    said = environment.get("AZURE_STORAGE_CONNECTION_STRING")
    account = environment.get("AZURE_STORAGE_ACCOUNT")
    try:
        if said:
            return BlobServiceClient.from_connection_string(said, **settings)
        if account:
            url = f"https://{account}.blob.core.windows.net"
            return BlobServiceClient(url, _credential(environment, named), **settings)
    except (ValueError, AzureError) as error:
        # Its text may quote the connection string.
        raise PermanentStoreError(
            f"{named}: AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT cannot be "
            f"used ({type(error).__name__}); copy it again from the account's access keys"
        ) from None
    raise PermanentStoreError(
        f"{named}: no Azure credentials were found; set AZURE_STORAGE_CONNECTION_STRING, or "
        "AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_ACCESS_KEY or AZURE_STORAGE_SAS_TOKEN"
    )


def _transport(deadlines: Deadlines) -> RequestsTransport:
    session = requests.Session()
    for scheme in ("https://", "http://"):
        session.mount(scheme, TimedAdapter())
    return RequestsTransport(
        session=session,
        connection_timeout=deadlines.connect_s,
        read_timeout=deadlines.silence_s,
    )


def _credential(environment: Mapping[str, str], named: str) -> Any:
    # The names that GDAL reads, so that one setting reaches both.
    for name in ("AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_SAS_TOKEN"):
        if environment.get(name):
            return environment[name]
    if importlib.util.find_spec("azure.identity") is None:
        raise PermanentStoreError(
            f"{named}: AZURE_STORAGE_ACCOUNT is set and no credential; set "
            "AZURE_STORAGE_ACCESS_KEY or AZURE_STORAGE_SAS_TOKEN, or install azure-identity"
        )
    return importlib.import_module("azure.identity").DefaultAzureCredential()
