"""A source, pinned to its content: what a plan says of it, and so what its job ID is made of."""

import re
from dataclasses import dataclass
from typing import Final

from scenemosaic.canonical import Fields, without
from scenemosaic.errors import InputError

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_URI: Final = re.compile(r"(s3|https?)://[^/?#@\s]+/[^\x00-\x1f]+")
_NO_PIN: Final[dict[str, object]] = dict.fromkeys(
    ("uri", "sha256", "etag", "version_id", "last_modified")
)


@dataclass(frozen=True, slots=True)
class Pin:
    """One source, pinned to its content.

    A local file is its SHA-256 and size: where it lies is no part of it
    (``uri`` None), so that a copy is the same scene. A remote one is its URI,
    without query or user, with ETag and version; ``last_modified`` stands in
    where the server gives no ETag.
    """

    uri: str | None
    sha256: str | None
    etag: str | None
    version_id: str | None
    size_bytes: int
    last_modified: str | None = None

    def __post_init__(self) -> None:
        if self.size_bytes < 1:
            raise InputError(f"pin.size_bytes must be at least 1, not {self.size_bytes}")
        if self.uri is None:
            _check_local(self)
        else:
            _check_remote(self)

    def to_json(self) -> dict[str, object]:
        """The canonical JSON value: what is not known is omitted."""
        values: dict[str, object] = {name: getattr(self, name) for name in _NO_PIN}
        return without(values, _NO_PIN) | {"size_bytes": self.size_bytes}


def pin_from_json(value: object, where: str) -> Pin:
    """The inverse of :meth:`Pin.to_json`; ``where`` names it for people."""
    fields = Fields(value, where)
    texts: dict[str, str | None] = {name: fields.typed(name, str, None) for name in _NO_PIN}
    size_bytes: int = fields.typed("size_bytes", int)
    fields.done()
    return Pin(
        uri=texts["uri"],
        sha256=texts["sha256"],
        etag=texts["etag"],
        version_id=texts["version_id"],
        size_bytes=size_bytes,
        last_modified=texts["last_modified"],
    )


def _check_local(pin: Pin) -> None:
    if pin.sha256 is None or not _SHA256.fullmatch(pin.sha256):
        raise InputError(
            f"pin.sha256 of a local file must be 64 hex digits, not {pin.sha256!r:.80}"
        )
    if pin.etag or pin.version_id or pin.last_modified:
        raise InputError("a local file is pinned by its SHA-256 and size alone")


def _check_remote(pin: Pin) -> None:
    uri = pin.uri or ""
    http = uri.startswith("http")
    if not _URI.fullmatch(uri) or (http and ("?" in uri or "#" in uri)):
        raise InputError("pin.uri must be s3://… or https://… without query or user")
    if not (pin.etag or pin.version_id or pin.last_modified):
        raise InputError(f"pin of {uri} has neither ETag, version nor last modification")
