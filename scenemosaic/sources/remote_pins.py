"""What a server says of a source without its content: one HEAD."""

import socket
import ssl
import urllib.error
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPException, HTTPMessage
from typing import Final

from scenemosaic.errors import InputError, PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.moments import http_date, rfc3339
from scenemosaic.sources.locations import public_uri
from scenemosaic.sources.reading_settings import read_deadlines
from scenemosaic.sources.web import asked, is_transient

_GONE: Final = (404, 410)
# Signed for GET alone, or no HEAD here at all: one byte by GET says the same.
_NO_HEAD: Final = (403, 405, 501)


@dataclass(frozen=True, slots=True)
class Facts:
    """What identifies a remote object; ``last_modified`` is RFC 3339 in UTC."""

    size_bytes: int
    etag: str | None
    version_id: str | None
    last_modified: str | None


def head_http(location: str) -> Facts | None:
    """The facts of an HTTP(S) resource, None where it does not exist.

    Raises InputError where the server names neither an ETag nor a time of last
    modification: such a source cannot be pinned.
    """
    try:
        headers, size_bytes = _ask(location)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in _GONE:
            return None
        raise _http_error(location, error.code) from None
    except (OSError, HTTPException) as error:
        wrong = isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError)
        kind = PermanentStoreError if wrong else TransientStoreError
        raise kind(f"{public_uri(location)}: HEAD: {_said(error)}") from None
    etag, modified = headers.get("ETag"), said_at(http_date(headers.get("Last-Modified")))
    if size_bytes is None or not (etag or modified):
        raise InputError(
            f"{public_uri(location)}: the server names neither an ETag nor a time of last "
            "modification with a length, so that the source cannot be pinned: copy it first"
        )
    return Facts(size_bytes, etag, None, modified)


def _said(error: Exception) -> str:
    """Why there was no answer, in the system's words, and what to look at."""
    reason = getattr(error, "reason", error)
    if isinstance(reason, ConnectionError | socket.gaierror):
        return f"{reason.strerror or reason}; check the URL, that its server runs, and the network"
    return str(reason)


def _ask(location: str) -> tuple[HTTPMessage, int | None]:
    try:
        headers = _request(location, "HEAD", {})
        return headers, _length(headers.get("Content-Length"))
    except urllib.error.HTTPError as error:
        if error.code not in _NO_HEAD:
            raise
        error.close()
    headers = _request(location, "GET", {"Range": "bytes=0-0"})
    total = headers.get("Content-Range", "").rpartition("/")[2] or headers.get("Content-Length")
    return headers, _length(total)


def _request(location: str, method: str, headers: dict[str, str]) -> HTTPMessage:
    with asked(location, read_deadlines(), method, headers) as answer:
        found: HTTPMessage = answer.headers
        return found


def _length(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def said_at(moment: datetime | None) -> str | None:
    """A moment as pins hold it: in UTC, to the second; None where nothing was said."""
    return None if moment is None else rfc3339(moment)


def _http_error(location: str, status: int) -> StoreError:
    kind = TransientStoreError if is_transient(status) else PermanentStoreError
    return kind(f"{public_uri(location)}: HEAD: HTTP status {status}")
