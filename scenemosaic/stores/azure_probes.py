"""What preflight alone may do on Azure: list and delete versions of its own probes."""

from collections.abc import Iterator
from typing import Any

from azure.storage.blob import BlobClient

from scenemosaic.keys import check_probe_key
from scenemosaic.stores.azure_requests import Requests
from scenemosaic.stores.port import Version
from scenemosaic.stores.s3_answers import Verdict


class AzureProbes:
    """One attempt a request; ``uri`` and ``prefix`` are the root's, the latter with its slash."""

    def __init__(self, requests: Requests, uri: str, prefix: str) -> None:
        self._requests = requests
        self._uri = uri
        self._prefix = prefix

    def versions(self, prefix: str) -> Iterator[Version]:
        def ask() -> list[Any]:
            return list(
                self._requests.container.list_blobs(
                    name_starts_with=self._prefix + prefix, include=["versions"]
                )
            )

        for found in self._requests.send("ListBlobs", f"{self._uri}/{prefix}", None, ask).found:
            # An account that keeps no versions tells of none, nor which one is current.
            current = bool(found.is_current_version) or found.version_id is None
            yield Version(str(found.name)[len(self._prefix) :], found.version_id, current=current)

    def delete(self, key: str, version_id: str | None = None) -> None:
        blob = self._requests.blob(self._prefix + check_probe_key(key))
        named = f"{self._uri}/{key}"
        # The version that is current cannot be named: it becomes a former one first.
        if version_id is None or self._is_current(blob, named, version_id):
            self._requests.send("DeleteBlob", named, None, lambda: blob.delete_blob())
        if version_id is not None:
            self._requests.send(
                "DeleteBlob", named, None, lambda: blob.delete_blob(version_id=version_id)
            )

    def _is_current(self, blob: BlobClient, named: str, version_id: str) -> bool:
        reply = self._requests.send("GetBlobProperties", named, None, blob.get_blob_properties)
        return reply.verdict is Verdict.OK and reply.found.version_id == version_id
