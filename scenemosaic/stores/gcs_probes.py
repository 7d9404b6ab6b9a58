"""What preflight alone may do on Cloud Storage: list and delete generations of its own probes."""

from collections.abc import Iterator
from typing import Any

from scenemosaic.keys import check_probe_key
from scenemosaic.stores.gcs_requests import Requests
from scenemosaic.stores.gcs_resources import versions_of
from scenemosaic.stores.port import Version


class GcsProbes:
    """One attempt a request; ``uri`` and ``prefix`` are the root's, the latter with its slash."""

    def __init__(self, requests: Requests, uri: str, prefix: str) -> None:
        self._requests = requests
        self._uri = uri
        self._prefix = prefix

    def versions(self, prefix: str) -> Iterator[Version]:
        token: dict[str, str] = {}
        while True:
            page = self._page(prefix, token)
            yield from versions_of(page, self._prefix, f"{self._uri}/{prefix}")
            if not page.get("nextPageToken"):
                return
            token = {"pageToken": page["nextPageToken"]}

    def delete(self, key: str, version_id: str | None = None) -> None:
        chosen = {} if version_id is None else {"generation": version_id}
        url = self._requests.object_url(self._prefix + check_probe_key(key))
        self._requests.send("DeleteObject", f"{self._uri}/{key}", url=url, params=chosen)

    def _page(self, prefix: str, token: dict[str, str]) -> dict[str, Any]:
        named = f"{self._uri}/{prefix}"
        params = {"prefix": self._prefix + prefix, "versions": "true", **token}
        url = self._requests.objects_url
        return self._requests.send("ListObjects", named, url=url, params=params).resource(named)
