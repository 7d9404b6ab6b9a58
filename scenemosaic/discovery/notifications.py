"""Messages that say that objects came: S3's own, EventBridge's, and either through SNS. Pure."""

import re
from typing import Any, Final
from urllib.parse import unquote_plus

from scenemosaic.canonical import decode
from scenemosaic.discovery.found import Found, is_scene
from scenemosaic.errors import InputError
from scenemosaic.sources.locations import canonical_location, printable

_WHAT: Final = "the message"
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_MAX_BODY: Final = 1 << 20


def scenes_in(body: str) -> list[Found]:
    """The scenes that a message announces, each once; none for tests and other objects' news.

    Raises InputError where it is no such message.
    """
    if len(body) > _MAX_BODY:
        raise InputError(f"{_WHAT} has {len(body)} characters, which no notification has")
    value = _object(decode(body.encode("utf-8", "surrogatepass"), _WHAT))
    if value.get("Type") == "Notification" and isinstance(value.get("Message"), str):
        value = _object(decode(value["Message"].encode("utf-8", "surrogatepass"), _WHAT))
    found = {one.source: one for one in _announced(value)}
    return [one for one in found.values() if is_scene(one.source)]


def _announced(value: dict[str, Any]) -> list[Found]:
    if value.get("Event") == "s3:TestEvent":
        return []
    if value.get("source") == "aws.s3":
        return _from_event_bridge(value)
    records = value.get("Records")
    if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
        raise InputError(f"{_WHAT} is no notification of S3 or EventBridge")
    return [
        _found(_object(record.get("s3")), record.get("eventTime"), unquote_plus)
        for record in records
        if str(record.get("eventName", "")).removeprefix("s3:").startswith("ObjectCreated:")
    ]


def _from_event_bridge(value: dict[str, Any]) -> list[Found]:
    if value.get("detail-type") != "Object Created":
        return []
    return [_found(_object(value.get("detail")), value.get("time"), str)]


def _found(detail: dict[str, Any], when: object, key_of: Any) -> Found:
    bucket, entry = _object(detail.get("bucket")).get("name"), _object(detail.get("object"))
    key = entry.get("key")
    if not isinstance(bucket, str) or not _BUCKET.fullmatch(bucket):
        raise InputError(f"{_WHAT} names no bucket")
    if not isinstance(key, str):
        raise InputError(f"{_WHAT} names no key of an object in {bucket}")
    name = key_of(key)
    if not name.isprintable():
        raise InputError(
            f"{_WHAT} names s3://{bucket}/{printable(name):.2000}, a key that nobody can read: "
            "copy the object to another"
        )
    version = entry.get("versionId") or entry.get("version-id") or entry.get("eTag") or ""
    source = canonical_location(f"s3://{bucket}/{name}")
    return Found(source, str(version or entry.get("etag", "")), str(when or ""))


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{_WHAT} is no notification of S3 or EventBridge")
    return value
