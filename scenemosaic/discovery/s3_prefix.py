"""Scenes below an S3 prefix, page by page."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from scenemosaic.discovery.found import Found, is_scene
from scenemosaic.errors import InputError
from scenemosaic.moments import epoch_rfc3339
from scenemosaic.sources.locations import canonical_location, printable, s3_parts
from scenemosaic.sources.reading_settings import read_deadlines, requester_pays
from scenemosaic.sources.s3_errors import S3_ERRORS, s3_error
from scenemosaic.sources.s3_reading import s3_client
from scenemosaic.waiting.deadlines import within
from scenemosaic.waiting.retry import Effects, RetryPolicy, retrying


def objects(location: str, policy: RetryPolicy, effects: Effects) -> Iterator[Found]:
    """Every scene below ``location``. Raises as :func:`scenemosaic.discovery.prefix.below`."""
    (bucket, prefix), after = s3_parts(location), None
    while True:
        # A page at a time: what was listed before a fault is not listed again.
        page = retrying(partial(_page, location, after), policy, effects)
        for one in page.get("Contents", ()):
            if is_scene(one["Key"][len(prefix) :]):
                yield _found(bucket, one)
        after = page.get("NextContinuationToken")
        if after is None:
            return


def _page(location: str, after: str | None) -> dict[str, Any]:
    bucket, prefix = s3_parts(location)
    request = {"Bucket": bucket, "Prefix": prefix}
    if after is not None:
        request["ContinuationToken"] = after
    if requester_pays():
        request["RequestPayer"] = "requester"
    try:
        with within(read_deadlines()):
            page: dict[str, Any] = s3_client().list_objects_v2(**request)
            return page
    except S3_ERRORS as error:
        raise s3_error(f"{location} cannot be listed", error) from error


def _found(bucket: str, one: dict[str, Any]) -> Found:
    seen_at = epoch_rfc3339(one["LastModified"].timestamp())
    location = f"s3://{bucket}/{one['Key']}"
    try:
        return Found(canonical_location(location), one["ETag"], seen_at)
    except InputError as error:
        return Found(printable(location), one["ETag"], seen_at, refused=str(error))
