"""Multipart uploads that are open in a bucket, page by page."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from scenemosaic.moments import http_date
from scenemosaic.stores.port import Unfinished
from scenemosaic.stores.s3_requests import Requests
from scenemosaic.waiting.retry import Effects, RetryPolicy, retrying
from scenemosaic.waiting.service_clock import now_utc


def open_uploads(
    requests: Requests, named: str, full_prefix: str, policy: RetryPolicy, effects: Effects
) -> Iterator[Unfinished]:
    """Uploads whose full key begins with ``full_prefix``; their ``key`` is the full one."""
    marker: dict[str, Any] = {}
    while True:
        page = _page(requests, named, full_prefix, marker, policy, effects)
        now = _now(page)
        for found in page.get("Uploads", ()):
            age_s = (now - found["Initiated"]).total_seconds()
            yield Unfinished(str(found["Key"]), str(found["UploadId"]), max(age_s, 0.0))
        if not page.get("IsTruncated"):
            return
        marker = {
            "KeyMarker": page["NextKeyMarker"],
            "UploadIdMarker": page["NextUploadIdMarker"],
        }


def _page(
    requests: Requests,
    named: str,
    full_prefix: str,
    marker: Mapping[str, Any],
    policy: RetryPolicy,
    effects: Effects,
) -> Mapping[str, Any]:
    return retrying(
        lambda: requests.send("ListMultipartUploads", named, Prefix=full_prefix, **marker).response,
        policy,
        effects,
    )


def _now(page: Mapping[str, Any]) -> datetime:
    """The service's own time, so that an age does not depend on this machine's clock."""
    said = page["ResponseMetadata"].get("HTTPHeaders", {}).get("date")
    return http_date(said) or now_utc()
