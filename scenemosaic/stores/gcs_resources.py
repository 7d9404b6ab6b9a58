"""What Cloud Storage says of an object, as the port has it. Pure."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from scenemosaic.errors import TransientStoreError
from scenemosaic.moments import rfc3339
from scenemosaic.stores.port import ObjectInfo, Version

_GENERATION = re.compile(r"[1-9][0-9]{0,18}")


def is_generation(etag: str) -> bool:
    """Whether an ETag can be one of this store's."""
    return _GENERATION.fullmatch(etag) is not None


@contextmanager
def described(named: str) -> Iterator[None]:
    """TransientStoreError naming ``named`` where an answer does not say what is read of it within.

    The server, or what stands before it, says something else: of a write nobody knows then
    whether it has landed.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise TransientStoreError(
            f"{named}: an answer that describes no object of Cloud Storage "
            f"({type(error).__name__}: {error}); check the endpoint"
        ) from error


def info_of(key: str, resource: Mapping[str, Any], named: str) -> ObjectInfo:
    """The object at ``key``. Raises as :func:`described` does."""
    with described(named):
        return _info(key, resource)


def infos_of(page: Mapping[str, Any], prefix: str, named: str) -> list[ObjectInfo]:
    """The objects on a page of a listing, by their keys below ``prefix``. Raises likewise."""
    with described(named):
        return [_info(found["name"][len(prefix) :], found) for found in page.get("items", ())]


def versions_of(page: Mapping[str, Any], prefix: str, named: str) -> list[Version]:
    """The same of a page of generations."""
    with described(named):
        return [_version(found, prefix) for found in page.get("items", ())]


def _version(found: Mapping[str, Any], prefix: str) -> Version:
    key, current = str(found["name"])[len(prefix) :], "timeDeleted" not in found
    return Version(key, str(found["generation"]), current=current)


def _info(key: str, resource: Mapping[str, Any]) -> ObjectInfo:
    generation = resource["generation"]
    if not is_generation(generation):
        raise ValueError(f"generation is {generation!r:.80}")
    return ObjectInfo(
        key=key,
        size_bytes=int(resource["size"]),
        etag=generation,
        version_id=generation,
        content_type=str(resource.get("contentType", "")),
        metadata=dict(resource.get("metadata", {})),
        last_modified=rfc3339(datetime.fromisoformat(resource["updated"])),
    )
