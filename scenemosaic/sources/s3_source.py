"""A source on S3: what a HEAD says of it, and its bytes by offset."""

from typing import Any

from urllib3.exceptions import HTTPError

from scenemosaic.sources.content_range import ends_with, no_ranges
from scenemosaic.sources.locations import s3_parts
from scenemosaic.sources.reading_settings import read_deadlines, requester_pays
from scenemosaic.sources.remote_facts import Facts, said_at
from scenemosaic.sources.s3_errors import S3_ERRORS, s3_error, status_of
from scenemosaic.sources.s3_reading import s3_client
from scenemosaic.waiting.deadlines import within


def head_s3(location: str) -> Facts | None:
    """The facts of an S3 object, None where it does not exist. A 403 is never None."""
    bucket, key = s3_parts(location)
    try:
        with within(read_deadlines()):
            answer = s3_client().head_object(Bucket=bucket, Key=key, **_paying())
    except S3_ERRORS as error:
        if status_of(error) == 404:
            return None
        raise s3_error(f"{location}: HEAD", error) from None
    version = answer.get("VersionId")
    return Facts(
        size_bytes=answer["ContentLength"],
        etag=answer.get("ETag"),
        version_id=None if version == "null" else version,
        last_modified=said_at(answer.get("LastModified")),
    )


def fetch_s3(location: str, offset: int, size: int) -> bytes:
    """``size`` bytes of an S3 object from ``offset`` on, fewer only at its end.

    Raises TransientStoreError, or, where the answer is for good, PermanentStoreError or InputError.
    """
    bucket, key = s3_parts(location)
    wanted = f"bytes={offset}-{offset + size - 1}"
    try:
        with within(read_deadlines()):
            answer = s3_client().get_object(Bucket=bucket, Key=key, Range=wanted, **_paying())
            if answer["ResponseMetadata"]["HTTPStatusCode"] != 206:
                answer["Body"].close()
                raise no_ranges(location)
            # boto3 compares the length with the body by itself, but only where it is said.
            data: bytes = answer["Body"].read()
            if ends_with(answer.get("ContentRange"), data, offset, size) is None:
                data += fetch_s3(location, offset + len(data), size - len(data))
    except (*S3_ERRORS, HTTPError) as error:
        if status_of(error) == 416:
            return b""
        raise s3_error(f"{location}: byte {offset} cannot be read", error) from None
    return data


def _paying() -> dict[str, Any]:
    return {"RequestPayer": "requester"} if requester_pays() else {}
