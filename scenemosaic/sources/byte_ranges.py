"""Bytes of a source by offset, whichever way it is reached. For headers: small and few."""

import os
from collections.abc import Callable
from typing import Final

from scenemosaic.errors import InputError, PermanentStoreError, SourceReadError
from scenemosaic.sources.http_source import fetch_http
from scenemosaic.sources.locations import is_http, is_local, is_s3, public_uri

_CHUNK_BYTES: Final = 64 << 10
_CHUNKS_KEPT: Final = 64


def range_reader(location: str, size_bytes: int) -> Callable[[int, int], bytes]:
    """``read_at(offset, size)`` of a source, in whole chunks, the last few kept.

    It returns fewer bytes only at the end of the ``size_bytes`` that were pinned, and never
    others than lie at ``offset``. Raises SourceReadError, or for a remote source
    TransientStoreError or, where the answer is for good, PermanentStoreError, naming the
    source; it was there when it was pinned.
    """
    kept: dict[int, bytes] = {}

    def chunk(number: int) -> bytes:
        if number not in kept:
            if len(kept) >= _CHUNKS_KEPT:
                kept.pop(next(iter(kept)))
            kept[number] = _fetch_all(location, number * _CHUNK_BYTES, _CHUNK_BYTES, size_bytes)
        return kept[number]

    def read_at(offset: int, size: int) -> bytes:
        if size > _CHUNK_BYTES:
            return _fetch_all(location, offset, size, size_bytes)
        first, last = offset // _CHUNK_BYTES, (offset + max(size, 1) - 1) // _CHUNK_BYTES
        data = b""
        for number in range(first, last + 1):
            data += chunk(number)
            if len(data) < (number - first + 1) * _CHUNK_BYTES:
                break
        return data[offset - first * _CHUNK_BYTES :][:size]

    return read_at


def read_whole(location: str, most_bytes: int) -> bytes:
    """All bytes of a small source. Raises InputError where it has more, else as reading does."""
    data = _fetch(location, 0, most_bytes + 1)
    if len(data) > most_bytes:
        raise InputError(f"{public_uri(location)} has more than {most_bytes} bytes")
    return data


def _fetch_all(location: str, offset: int, size: int, size_bytes: int) -> bytes:
    """Those of the bytes that the source had when it was pinned. What grew since is not read."""
    wanted = min(size, size_bytes - offset)
    data = _fetch(location, offset, wanted) if wanted > 0 else b""
    if len(data) < wanted:
        kind = SourceReadError if is_local(location) else PermanentStoreError
        raise kind(
            f"{public_uri(location)}: byte {offset + len(data)} cannot be read: nothing is said to "
            f"lie there, and the source has {size_bytes} bytes; run again if it was replaced just "
            "now, else copy it, or fetch it again"
        )
    return data


def _fetch(location: str, offset: int, size: int) -> bytes:
    if is_s3(location):
        from scenemosaic.sources.s3_source import fetch_s3

        return fetch_s3(location, offset, size)
    if is_http(location):
        return fetch_http(location, offset, size)
    try:
        return _fetch_local(location, offset, size)
    except OSError as error:
        raise SourceReadError(f"{location}: byte {offset} cannot be read: {error}") from None


def _fetch_local(path: str, offset: int, size: int) -> bytes:
    """As much as there is: one call may read less of a file on a network than it holds."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while piece := os.pread(descriptor, size - len(data), offset + len(data)):
            data += piece
        return data
    finally:
        os.close(descriptor)
