"""Pin sources to their content, and check later that a source is still the pinned one."""

import os
import stat
from dataclasses import dataclass

from scenemosaic.errors import InputError, SourceReplaced
from scenemosaic.plans.pin import Pin
from scenemosaic.sources.http_source import head_http
from scenemosaic.sources.locations import is_http, is_local, public_uri
from scenemosaic.sources.pin_cache import FileState, hash_file, remember, remembered
from scenemosaic.sources.remote_facts import Facts


@dataclass(frozen=True, slots=True)
class Pinned:
    """A pin, and when the server says that the object was last modified (RFC 3339, remote only)."""

    pin: Pin
    last_modified: str | None


def pin_source(location: str) -> Pinned:
    """Pin what lies at a canonical location.

    Local: SHA-256 of the content. Remote: ETag, version and size by HEAD. Raises
    InputError where there is nothing that can be pinned, StoreError where the
    server does not answer or refuses.
    """
    if is_local(location):
        return Pinned(_pin_file(location), None)
    facts = _head(location)
    if facts is None:
        raise InputError(f"{public_uri(location)}: no such object")
    return Pinned(_remote_pin(location, facts), facts.last_modified)


def check_readable(location: str) -> None:
    """InputError where nothing that can be pinned lies at a canonical location; reads no pixel."""
    if is_local(location):
        _state(location)
    elif _head(location) is None:
        raise InputError(f"{public_uri(location)}: no such object")


def verify_pin(pin: Pin, location: str) -> None:
    """Check, without reading where that can be avoided, that the source is still the pinned one.

    To be called after a read and before what came of it is written. Raises
    SourceReplaced naming the source where it has changed or is gone.
    """
    if is_local(location):
        _verify_file(pin, location)
        return
    facts = _head(location)
    if facts is None:
        raise SourceReplaced(f"{public_uri(location)}: the source is gone since it was pinned")
    now = _remote_pin(location, facts)
    if now != pin:
        raise _changed(location, _identity(pin), _identity(now))


def _head(location: str) -> Facts | None:
    if is_http(location):
        return head_http(location)
    from scenemosaic.sources.s3_source import head_s3

    return head_s3(location)


def _remote_pin(location: str, facts: Facts) -> Pin:
    return Pin(
        uri=public_uri(location),
        sha256=None,
        etag=facts.etag,
        version_id=facts.version_id,
        size_bytes=facts.size_bytes,
        last_modified=None if facts.etag else facts.last_modified,
    )


def _pin_file(path: str) -> Pin:
    state = _state(path)
    sha256 = _sha256(state)
    return Pin(uri=None, sha256=sha256, etag=None, version_id=None, size_bytes=state.size_bytes)


def _state(path: str) -> FileState:
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise InputError(
                f"{path}: is a directory; give a raster file, or make a mosaic of each below it "
                "by a backfill of that prefix"
            )
        if not stat.S_ISREG(mode):
            raise InputError(f"{path}: is not a regular file")
        state = FileState.of(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {_why(error)}") from None
    if state.size_bytes == 0:
        raise InputError(f"{path}: is empty")
    return state


def _sha256(state: FileState) -> str:
    """The content's hash; a file that changes while it is read is refused."""
    known = remembered(state)
    if known is not None:
        return known
    try:
        sha256 = hash_file(state.path)
        after = FileState.of(state.path)
    except OSError as error:
        raise InputError(f"{state.path}: cannot be read: {_why(error)}") from None
    if after != state:
        raise InputError(f"{state.path}: changes while it is read; try again when it is done")
    remember(state, sha256)
    return sha256


def _verify_file(pin: Pin, path: str) -> None:
    try:
        state = _state(path)
        now = pin.sha256 if state.size_bytes != pin.size_bytes else _sha256(state)
    except InputError as error:
        raise SourceReplaced(f"the source is not what was pinned: {error}") from None
    if state.size_bytes != pin.size_bytes:
        raise _changed(path, f"{pin.size_bytes} bytes", f"{state.size_bytes} bytes")
    if now != pin.sha256:
        raise _changed(path, f"SHA-256 {pin.sha256}", f"SHA-256 {now}")


def _changed(location: str, pinned: str, now: str) -> SourceReplaced:
    return SourceReplaced(
        f"{public_uri(location)}: the source changed after it was pinned "
        f"(pinned {pinned}, now {now}): plan again"
    )


def _identity(pin: Pin) -> str:
    parts = {"ETag": pin.etag, "version": pin.version_id, "last modified": pin.last_modified}
    named = [f"{name} {value}" for name, value in parts.items() if value]
    return ", ".join([*named, f"{pin.size_bytes} bytes"])


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
