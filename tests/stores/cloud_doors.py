"""Back doors of Cloud Storage's and Azure's emulators, past the adapters under test."""

import json
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from azure.storage.blob import BlobServiceClient, ContainerClient

from tests import servers

_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def gcs_bucket(endpoint: str, *, versioned: bool = False) -> str:
    """A fresh, empty bucket's name."""
    bucket = f"sm-{uuid.uuid4().hex[:16]}"
    resource = {"name": bucket, "versioning": {"enabled": versioned}}
    _call("POST", f"{endpoint}/storage/v1/b?project=test", json.dumps(resource).encode())
    return bucket


def azure_container(endpoint: str) -> ContainerClient:
    """A fresh, empty container."""
    service = BlobServiceClient.from_connection_string(servers.azurite_connection(endpoint))
    return service.create_container(f"sm-{uuid.uuid4().hex[:16]}")


def _call(
    method: str, url: str, data: bytes | None = None, kind: str = "application/json"
) -> bytes:
    headers = {"Content-Type": kind} if data else {}
    with _DIRECT.open(urllib.request.Request(url, data, headers, method=method)) as answer:
        return bytes(answer.read())


@dataclass(frozen=True)
class GcsDoor:
    endpoint: str
    bucket: str
    prefix: str
    sessions: Callable[[], int] = lambda: 0

    def _url(self, key: str) -> str:
        name = quote(self.prefix + key, safe="")
        return f"{self.endpoint}/storage/v1/b/{self.bucket}/o/{name}"

    def read(self, key: str) -> bytes:
        return _call("GET", f"{self._url(key)}?alt=media")

    def write(self, key: str, data: bytes) -> None:
        base = f"{self.endpoint}/upload/storage/v1/b/{self.bucket}/o?"
        kind = "\r\n--b\r\nContent-Type: "
        head = f"{kind}application/json\r\n\r\n{json.dumps({'name': self.prefix + key})}"
        body = (head + f"{kind}text/plain\r\n\r\n").encode() + data + b"\r\n--b--\r\n"
        _call("POST", f"{base}uploadType=multipart", body, "multipart/related; boundary=b")

    def delete(self, key: str) -> None:
        _call("DELETE", self._url(key))

    def keys(self) -> list[str]:
        return [found["name"][len(self.prefix) :] for found in self._items()]

    def versions(self, key: str) -> int:
        return sum(found["name"] == self.prefix + key for found in self._items(versions="true"))

    def stamp(self, key: str) -> object:
        found = json.loads(_call("GET", self._url(key)))
        return found["generation"], found["updated"], found["metageneration"]

    def open_uploads(self) -> int:
        return self.sessions()

    def _items(self, **query: str) -> Iterator[dict[str, Any]]:
        while True:
            url = f"{self.endpoint}/storage/v1/b/{self.bucket}/o?{urlencode(query)}"
            page = json.loads(_call("GET", url))
            yield from page.get("items", ())
            if not page.get("nextPageToken"):
                return
            query["pageToken"] = page["nextPageToken"]


@dataclass(frozen=True)
class AzureDoor:
    container: ContainerClient
    prefix: str

    def read(self, key: str) -> bytes:
        return self.container.download_blob(self.prefix + key).readall()

    def write(self, key: str, data: bytes) -> None:
        self.container.upload_blob(self.prefix + key, data, overwrite=True)

    def delete(self, key: str) -> None:
        self.container.delete_blob(self.prefix + key)

    def keys(self) -> list[str]:
        return [str(found.name)[len(self.prefix) :] for found in self.container.list_blobs()]

    def versions(self, key: str) -> int:
        return sum(found == key for found in self.keys())

    def stamp(self, key: str) -> object:
        found = self.container.get_blob_client(self.prefix + key).get_blob_properties()
        return found.last_modified, found.etag

    def open_uploads(self) -> int:
        """None: blocks that are never committed cannot be aborted; see test_azure_faults."""
        return 0

    def uncommitted(self) -> list[str]:
        """Keys that have staged blocks and no blob."""
        found = self.container.list_blobs(include=["uncommittedblobs"])
        return sorted({str(blob.name)[len(self.prefix) :] for blob in found} - set(self.keys()))
