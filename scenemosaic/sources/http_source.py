"""A source on a web server: what a HEAD says of it, and its bytes by offset."""

import socket
import ssl
import urllib.error
from http.client import HTTPException, HTTPMessage
from typing import Final

from scenemosaic.errors import InputError, PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.moments import http_date
from scenemosaic.sources.content_range import ends_with, no_ranges
from scenemosaic.sources.locations import public_uri
from scenemosaic.sources.reading_settings import read_deadlines
from scenemosaic.sources.remote_facts import Facts, said_at
from scenemosaic.sources.web import UnusableUrl, asked, is_transient

HTTP_ERRORS: Final = (OSError, HTTPException)
_GONE: Final = (404, 410)
# Signed for GET alone, or no HEAD here at all: one byte by GET says the same.
_NO_HEAD: Final = (403, 405, 501)


def head_http(location: str) -> Facts | None:
    """The facts of an HTTP(S) resource, None where it does not exist.

    Raises InputError where the server names neither an ETag nor a time of last
    modification: such a source cannot be pinned.
    """
    try:
        headers, size_bytes = _ask(location)
    except HTTP_ERRORS as error:
        if _status_of(error) in _GONE:
            return None
        raise http_error(f"{public_uri(location)}: HEAD", error) from None
    etag, modified = headers.get("ETag"), said_at(http_date(headers.get("Last-Modified")))
    if size_bytes is None or not (etag or modified):
        raise InputError(
            f"{public_uri(location)}: the server names neither an ETag nor a time of last "
            "modification with a length, so that the source cannot be pinned: copy it first"
        )
    return Facts(size_bytes, etag, None, modified)


def fetch_http(location: str, offset: int, size: int) -> bytes:
    """``size`` bytes of an HTTP(S) resource from ``offset`` on, fewer only at its end.

    Raises TransientStoreError, or, where the answer is for good, PermanentStoreError or InputError.
    """
    data = b""
    try:
        while len(data) < size:
            piece, is_end = _range(location, offset + len(data), size - len(data))
            data += piece
            if is_end:
                break
    except HTTP_ERRORS as error:
        raise http_error(f"{public_uri(location)}: byte {offset} cannot be read", error) from None
    return data


def http_error(subject: str, error: Exception) -> StoreError:
    """The error to raise where a request ended with one of :data:`HTTP_ERRORS`.

    Its text holds no URL but the subject's, and so no signature: urllib's own errors may
    repeat one, so of an answer only its number is told; for the others see :func:`asked`.
    """
    status, reason = _status_of(error), getattr(error, "reason", error)
    if status:
        kind = TransientStoreError if is_transient(status) else PermanentStoreError
        leads = ": it redirects in a circle, or to no http(s) URL" if status < 400 else ""
        return kind(f"{subject}: HTTP status {status}{leads}")
    is_final = isinstance(error, UnusableUrl) or isinstance(reason, ssl.SSLCertVerificationError)
    kind = PermanentStoreError if is_final else TransientStoreError
    return kind(f"{subject}: {_said(reason)}")


def _status_of(error: Exception) -> int:
    """The HTTP status of the server's answer, 0 where there was none."""
    if not isinstance(error, urllib.error.HTTPError):
        return 0
    error.close()
    return error.code


def _said(reason: object) -> str:
    """Why there was no answer, in the system's words, and what to look at."""
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


def _range(location: str, offset: int, size: int) -> tuple[bytes, bool | None]:
    """Bytes from ``offset`` on, and whether the resource ends with them, as :func:`ends_with`."""
    headers = {"Range": f"bytes={offset}-{offset + size - 1}"}
    try:
        with asked(location, read_deadlines(), headers=headers) as answer:
            if answer.status != 206:
                raise no_ranges(location)
            data: bytes = answer.read(size)
            return data, ends_with(answer.headers.get("Content-Range"), data, offset, size)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        error.close()
        return b"", True
