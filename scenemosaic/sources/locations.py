"""Where a source lies: a local path, ``s3://bucket/key`` or ``https://host/path``.

A location may hold a signature in its query; :func:`public_uri` is what may be
shown, stored and hashed.
"""

import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from scenemosaic.errors import InputError

FORMS: Final = "a path, s3://bucket/key or https://host/path"
_HTTP: Final = ("http", "https")
_NOT_IN_A_URL: Final = re.compile(r"[^!-~]")
# What a plan holds of a key, and what UTF-8 holds.
_NOT_IN_A_KEY: Final = re.compile(r"[\x00-\x1f\ud800-\udfff]")
_STAC_FILES: Final = (".json", ".geojson")
# As APIs spell an item, a page of a collection's items, and a search.
_STAC_PATH: Final = re.compile(r"/collections/[^/]+/items(/[^/]+)?/?$|/search/?$")


def canonical_location(text: str) -> str:
    """The location to open: an absolute path, or the URI with its query.

    Raises InputError for other schemes, for users and passwords in URIs, and for what is no URL
    as servers are asked for it: with a blank, beyond ASCII, without a host or port that can be.
    Of a key on S3 it is control characters alone, which a plan does not hold.
    """
    if "\0" in text or not text:
        raise InputError(f"not a source: {_shown(text)!r}; give {FORMS}")
    if "://" not in text or text.startswith(("/", ".")):
        return os.path.abspath(text)
    parts = _split(text)
    if parts.scheme == "file":
        if any(c < " " for c in text):  # which are lost in what was split
            raise InputError(f"{printable(text)}: give the path itself, or percent-encode it")
        if parts.netloc not in ("", "localhost"):
            raise InputError(f"{text!r}: a file:// source names no host")
        return os.path.abspath(unquote(parts.path))
    return _remote(parts, text)


def _remote(parts: SplitResult, text: str) -> str:
    if parts.scheme not in ("s3", *_HTTP):
        raise InputError(f"{parts.scheme}:// is not read; give {FORMS}")
    if "@" in parts.netloc:
        raise InputError(
            f"{parts.scheme}://…@{parts.hostname}: credentials do not belong into a source's URI; "
            "use the environment or a signed URL"
        )
    if not parts.hostname or len(parts.path) < 2:
        raise InputError(
            f"{parts.scheme}://{parts.netloc}{parts.path}: not an object; give {FORMS}"
        )
    if parts.scheme == "s3":
        if _NOT_IN_A_KEY.search(text):
            raise InputError(
                f"{printable(text)}: a key with a tab, a line's end or another control character "
                "is not read: copy the object to a key without, and give that one"
            )
        return text  # a key may hold ? and #
    check_host(text)
    if _NOT_IN_A_URL.search(text):
        raise InputError(
            f"{_quoted(_shown(text))}: percent-encode its URL like this, and its query, too: it "
            "holds a blank, a control character or one beyond ASCII"
        )
    return parts._replace(scheme=parts.scheme.lower(), fragment="").geturl()


def check_host(url: str) -> None:
    """InputError where the URL's host or port is none that could be asked, whatever its path."""
    parts = _split(url)
    host = parts.hostname or ""
    try:
        host.encode("idna")  # as whoever resolves it will
        if not host or not host.isascii():
            raise ValueError
    except ValueError:
        raise InputError(
            f"{parts.scheme}://{_quoted(host)}/…: no host's name: its parts have 1 to 63 "
            "characters each, and one beyond ASCII is spelled xn--…"
        ) from None
    try:
        usable = parts.port != 0
    except ValueError:
        usable = False
    if not usable:  # which is not shown: it may be a password that holds a slash
        raise InputError(f"{parts.scheme}://{host}:…: its port is no number from 1 to 65535")


def _split(text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError:  # whose text holds what was given
        raise InputError(f"not a source's URI; give {FORMS}") from None


def _shown(text: str) -> str:
    """What was given without what may be a signature."""
    return re.split("[?#]", text, maxsplit=1)[0] if "://" in text else text


def printable(text: str) -> str:
    """The text with what no terminal or record takes as it is spelled as Python does (``\\t``)."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _quoted(text: str) -> str:
    return quote(text, safe="/:@!$&'()*+,;=~%", errors="backslashreplace")


def is_local(location: str) -> bool:
    """Whether the location is a path."""
    return not is_s3(location) and not is_http(location)


def is_s3(location: str) -> bool:
    return location.startswith("s3://")


def is_http(location: str) -> bool:
    return location.startswith(("http://", "https://"))


def is_stac(location: str) -> bool:
    """Whether a location's name is that of a STAC document: no raster's ends like that."""
    public = public_uri(location)
    if public.lower().endswith(_STAC_FILES):
        return True
    return is_http(location) and _STAC_PATH.search(public) is not None


def s3_parts(location: str) -> tuple[str, str]:
    """(bucket, key) of an ``s3://`` location."""
    bucket, _, key = location.removeprefix("s3://").partition("/")
    return bucket, key


def public_uri(location: str) -> str:
    """The location without query: fit for plans, logs and messages. Paths stay as they are."""
    return location.partition("?")[0] if is_http(location) else location


def vsi_path(location: str) -> str:
    """The location as GDAL opens it."""
    if is_s3(location):
        return "/vsis3/" + location.removeprefix("s3://")
    if is_http(location):
        return "/vsicurl/" + location
    return str(Path(location))


def href(location: str) -> str:
    """The public location as a link's target."""
    return _quoted(public_uri(location))
