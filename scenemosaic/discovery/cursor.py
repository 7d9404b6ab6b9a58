"""What a schedule has seen: pure. A listing's times are no order, so a span behind is kept.

An object can appear with a time in the past (S3 dates a multipart upload from its start), so
everything younger than the newest less :data:`OVERLAP` is remembered one by one, and so is
what has no time at all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from scenemosaic.canonical import Fields, decode, encode
from scenemosaic.discovery.found import Found
from scenemosaic.errors import InputError

OVERLAP: Final = timedelta(days=7)
MAX_CURSOR_BYTES: Final = 16 << 20
_FORM: Final = 1


@dataclass(frozen=True, slots=True)
class Cursor:
    """``newest`` is the latest time seen, empty at first; ``seen`` maps names to

    (version, time) for all that is not older than the overlap, or has no time.
    """

    newest: str = ""
    seen: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def fresh(self, found: Iterable[Found]) -> list[Found]:
        """What is new or another version, oldest first."""
        new = [one for one in found if self._is_new(one)]
        return sorted(new, key=lambda one: (one.seen_at, one.source))

    def _is_new(self, one: Found) -> bool:
        known = self.seen.get(one.name)
        if known is not None:
            return known[0] != one.version
        return not self.newest or not one.seen_at or one.seen_at >= _behind(self.newest)

    def after(self, handled: Iterable[Found], waiting: Iterable[Found] = ()) -> "Cursor":
        """The cursor once these are handled.

        It does not pass what is ``waiting``, which stays new for however long that takes.
        """
        seen = dict(self.seen) | {one.name: (one.version, one.seen_at) for one in handled}
        newest = max([self.newest, *(when for _, when in seen.values())])
        times = [one.seen_at for one in waiting if one.seen_at]
        newest = max(self.newest, min([newest, *times]))
        since = _behind(newest) if newest else ""
        kept = {name: one for name, one in seen.items() if not one[1] or one[1] >= since}
        return Cursor(newest, kept)

    def dump(self, write_id: str) -> bytes:
        """The bytes to store; ``write_id`` makes no two changes the same."""
        seen = {name: list(one) for name, one in sorted(self.seen.items())}
        return encode({"form": _FORM, "newest": self.newest, "seen": seen, "write_id": write_id})


def load(data: bytes | None, uri: str) -> Cursor:
    """The stored cursor, checked; a new one where there is none. InputError names ``uri``."""
    if data is None:
        return Cursor()
    fields = Fields(decode(data, uri), uri)
    if fields.typed("form", int) != _FORM:
        raise InputError(f"{uri} is a cursor of another version of scenemosaic")
    newest, seen = fields.typed("newest", str), fields.typed("seen", dict)
    fields.typed("write_id", str)
    fields.done()
    if newest:
        _time(newest, uri)
    return Cursor(newest, {name: _pair(name, one, uri) for name, one in seen.items()})


def _pair(name: str, value: object, uri: str) -> tuple[str, str]:
    match value:
        case [str(version), str(when)]:
            if when:
                _time(when, uri)
            return version, when
    raise InputError(f"{uri}: {name!r} is not listed as [version, time]")


def _time(text: str, uri: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise InputError(f"{uri}: {text!r} is no time such as 2024-05-01T00:00:00Z") from error


def _behind(newest: str) -> str:
    moment = _time(newest, "cursor") - OVERLAP
    return moment.isoformat().replace("+00:00", "Z")
