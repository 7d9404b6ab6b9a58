"""One request of Cloud Storage's JSON API: sent once, its failure told apart.

Credentials, endpoint and HTTP session are google-cloud-storage's. Its upload methods
are not used: above 8 MiB they switch to a resumable session, and a tile must be
one request of any size.
"""

import base64
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import google.cloud.storage as storage
import google_crc32c
import requests
from google.auth.credentials import Credentials
from google.auth.exceptions import GoogleAuthError, TransportError

from scenemosaic.access import ENVIRONMENT, Access, credentials_of
from scenemosaic.errors import PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.stores.gcs_answers import answered_error, classify, failure_of, without_queries
from scenemosaic.stores.port import Condition, IfAbsent
from scenemosaic.stores.s3_answers import Verdict
from scenemosaic.stores.timed_adapter import TimedAdapter
from scenemosaic.waiting.deadlines import Deadlines, Ending, time_connections, within

FIELDS = "name,size,generation,contentType,metadata,updated"

_METHODS = {
    "GetObject": "GET",
    "ReadObject": "GET",
    "ListObjects": "GET",
    "InsertObject": "POST",
    "StartUpload": "POST",
    "UploadChunk": "PUT",
    "CancelUpload": "DELETE",
    "DeleteObject": "DELETE",
}


@dataclass(frozen=True, slots=True)
class GcsOptions:
    """What a bucket may demand of its clients. Nothing is set where nothing is given."""

    kms_key_name: str | None = None
    storage_class: str | None = None
    user_project: str | None = None

    def for_every_request(self) -> dict[str, str]:
        return {"userProject": self.user_project} if self.user_project else {}

    def for_new_object(self) -> dict[str, str]:
        return {"kmsKeyName": self.kms_key_name} if self.kms_key_name else {}

    def resource(self) -> dict[str, str]:
        return {"storageClass": self.storage_class} if self.storage_class else {}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that the caller decides on; never TRANSIENT or PERMANENT."""

    verdict: Verdict
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def request_id(self) -> str:
        return self.headers.get("X-GUploader-UploadID", "")

    def resource(self, named: str) -> dict[str, Any]:
        """The JSON of a success. Raises TransientStoreError where it is none."""
        try:
            found = json.loads(self.body)
        except ValueError as error:
            raise TransientStoreError(f"{named}: an answer that is no JSON: {error}") from error
        if not isinstance(found, dict):
            raise TransientStoreError(f"{named}: an answer that is no JSON object")
        return found


class Requests:
    """Sends requests to one bucket, one attempt each."""

    def __init__(
        self,
        session: requests.Session,
        endpoint: str,
        bucket: str,
        options: GcsOptions,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._session = session
        self._deadlines = deadlines or Deadlines()
        self._base = endpoint.rstrip("/")
        self._objects = f"/storage/v1/b/{quote(bucket, safe='')}/o"
        self.options = options

    def object_url(self, full_key: str) -> str:
        return f"{self.objects_url}/{quote(full_key, safe='')}"

    @property
    def objects_url(self) -> str:
        return self._base + self._objects

    @property
    def upload_url(self) -> str:
        return f"{self._base}/upload{self._objects}"

    def send(
        self,
        operation: str,
        named: str,
        condition: Condition | None = None,
        *,
        url: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
    ) -> Reply:
        """The reply. Raises TransientStoreError or PermanentStoreError, naming ``named``."""
        with within(self._deadlines) as ending:
            try:
                response = self._session.request(
                    _METHODS[operation],
                    url,
                    params={**self.options.for_every_request(), **(params or {})},
                    headers={"Accept-Encoding": "identity", **(headers or {})},
                    data=data,
                    timeout=(self._deadlines.connect_s, self._deadlines.silence_s),
                    allow_redirects=False,
                )
            except (requests.RequestException, GoogleAuthError) as error:
                raise unanswered_error(error, operation, named, ending) from None
        if response.status_code in (200, 201, 204, 206, 308):
            verdict = Verdict.OK
        else:
            failure = failure_of(response.status_code, response.headers, response.text)
            verdict = classify(
                failure.reason, failure.message, failure.status, operation, condition
            )
            if verdict in (Verdict.TRANSIENT, Verdict.PERMANENT):
                raise answered_error(verdict, failure, operation, named)
        return Reply(verdict, response.status_code, response.headers, response.content)

    def insert(
        self, named: str, condition: Condition, resource: Mapping[str, Any], data: bytes
    ) -> Reply:
        """One whole object in one request, whatever its size, with its CRC-32C and condition."""
        boundary = f"=={uuid.uuid4().hex}=="
        return self.send(
            "InsertObject",
            named,
            condition,
            url=self.upload_url,
            params={"uploadType": "multipart", "fields": FIELDS, **self._writing(condition)},
            headers={"Content-Type": f'multipart/related; boundary="{boundary}"'},
            data=related(boundary, {**resource, "crc32c": crc32c(data)}, data),
        )

    def start(
        self, named: str, condition: Condition, resource: Mapping[str, Any], size_bytes: int
    ) -> Reply:
        """A resumable session that carries the condition to its end; its URL is in Location."""
        return self.send(
            "StartUpload",
            named,
            condition,
            url=self.upload_url,
            params={"uploadType": "resumable", "fields": FIELDS, **self._writing(condition)},
            headers={
                "Content-Type": "application/json; charset=UTF-8",
                "X-Upload-Content-Type": str(resource["contentType"]),
                "X-Upload-Content-Length": str(size_bytes),
            },
            data=json.dumps(resource).encode(),
        )

    def _writing(self, condition: Condition) -> dict[str, str]:
        return {**generation_match(condition), **self.options.for_new_object()}

    def close(self) -> None:
        self._session.close()


def generation_match(condition: Condition) -> dict[str, str]:
    """The parameter that makes a write conditional. 0 means: no live object."""
    generation = "0" if isinstance(condition, IfAbsent) else condition.etag
    return {"ifGenerationMatch": generation}


def related(boundary: str, resource: Mapping[str, Any], data: bytes) -> bytes:
    """The body of a multipart insert: the object's resource, then its bytes."""
    head = (
        f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
        f"{json.dumps(resource)}\r\n"
        f"--{boundary}\r\nContent-Type: {resource['contentType']}\r\n\r\n"
    )
    return b"".join((head.encode(), data, f"\r\n--{boundary}--\r\n".encode()))


def crc32c(data: bytes) -> str:
    """CRC-32C as Cloud Storage spells it: big-endian, base64."""
    return encoded_crc(google_crc32c.value(data))


def encoded_crc(value: int) -> str:
    return base64.b64encode(value.to_bytes(4, "big")).decode()


def unanswered_error(error: Exception, operation: str, named: str, ending: Ending) -> StoreError:
    """The error of a request that got no answer: permanent where credentials are at fault."""
    if ending.over:
        return TransientStoreError(f"{operation} of {named}: {ending}")
    if isinstance(error, GoogleAuthError) and not isinstance(error, TransportError):
        if getattr(error, "retryable", False):
            return TransientStoreError(f"{operation} of {named}: no access token for now")
        return PermanentStoreError(
            f"{operation} of {named}: the Google Cloud credentials gave no access token "
            f"({type(error).__name__}); check that they are valid and not expired"
        )
    return TransientStoreError(f"{operation} of {named}: {without_queries(str(error))}")


def options_of(access: Access) -> GcsOptions:
    """What a bucket demands, as a block says it."""
    return GcsOptions(access.encryption_key, access.storage_class, access.billing_project)


def make_client(named: str, access: Access = ENVIRONMENT) -> storage.Client:
    """A client of the environment's credentials or ``access``'s; an emulator needs none."""
    chosen = {} if access.endpoint is None else {"api_endpoint": access.endpoint}
    try:
        client = storage.Client(
            project=None,
            credentials=credentials_of(access, Credentials),  # type: ignore[type-abstract]
            client_options=chosen,
        )
    except (GoogleAuthError, ValueError, OSError) as error:
        # The text of the error may quote the credentials.
        raise PermanentStoreError(
            f"{named}: no usable Google Cloud credentials were found ({type(error).__name__}); "
            "set GOOGLE_APPLICATION_CREDENTIALS, or run: gcloud auth application-default login"
        ) from None
    session = client._http
    if getattr(session, "is_mtls", False):
        for adapter in session.adapters.values():
            time_connections(adapter.poolmanager)
    else:
        for scheme in ("https://", "http://"):
            session.mount(scheme, TimedAdapter())
    return client
