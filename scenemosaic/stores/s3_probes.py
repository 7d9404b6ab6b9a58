"""What preflight alone may do on S3: list and delete versions of its own probes."""

from collections.abc import Iterator, Mapping
from typing import Any

from scenemosaic.keys import check_probe_key
from scenemosaic.stores.port import Version
from scenemosaic.stores.s3_requests import Requests

# How S3 spells the version of an object that was written while versions were not kept.
_UNVERSIONED = "null"


class S3Probes:
    """One attempt a request; ``uri`` and ``prefix`` are the root's, the latter with its slash."""

    def __init__(self, requests: Requests, uri: str, prefix: str) -> None:
        self._requests = requests
        self._uri = uri
        self._prefix = prefix

    def versions(self, prefix: str) -> Iterator[Version]:
        marker: dict[str, Any] = {}
        while True:
            page = self._page(prefix, marker)
            for name in ("Versions", "DeleteMarkers"):
                for found in page.get(name, ()):
                    yield self._version(found, marker=name == "DeleteMarkers")
            if not page.get("IsTruncated"):
                return
            marker = {"KeyMarker": page["NextKeyMarker"]}
            if page.get("NextVersionIdMarker"):
                marker["VersionIdMarker"] = page["NextVersionIdMarker"]

    def delete(self, key: str, version_id: str | None = None) -> None:
        chosen: dict[str, Any] = {} if version_id is None else {"VersionId": version_id}
        full_key = self._prefix + check_probe_key(key)
        self._requests.send("DeleteObject", f"{self._uri}/{key}", Key=full_key, **chosen)

    def put_without_condition(self, key: str, data: bytes) -> Version:
        reply = self._requests.send(
            "PutObject", f"{self._uri}/{key}", Key=self._prefix + check_probe_key(key), Body=data
        )
        return Version(key, reply.response.get("VersionId"))

    def _page(self, prefix: str, marker: Mapping[str, Any]) -> Mapping[str, Any]:
        named, full = f"{self._uri}/{prefix}", self._prefix + prefix
        return self._requests.send("ListObjectVersions", named, Prefix=full, **marker).response

    def _version(self, found: Mapping[str, Any], *, marker: bool) -> Version:
        version_id = found.get("VersionId")
        known = None if version_id == _UNVERSIONED else version_id
        key, current = (
            str(found["Key"])[len(self._prefix) :],
            not marker and bool(found["IsLatest"]),
        )
        return Version(key, known, marker, current)
