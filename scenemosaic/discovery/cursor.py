"""What a schedule has seen: pure. A listing's times are no order, so a span behind is kept.

An object can appear with a time in the past (S3 dates a multipart upload from its start), so
everything younger than the newest less :data:`OVERLAP` is remembered one by one, and so is
what has no time at all. A time that lies ahead, by a mistake or a wrong clock, is remembered
like that too, but moves nothing: else all that comes until then would pass for seen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from scenemosaic.canonical import Fields, decode, encode
from scenemosaic.discovery.found import Found
from scenemosaic.errors import InputError
from scenemosaic.moments import rfc3339

OVERLAP: Final = timedelta(days=7)
# Clocks differ, by hours where somebody took a local time for UTC.
AHEAD: Final = timedelta(days=1)
_END: Final = "9999-12-31T23:59:59Z"
MAX_CURSOR_BYTES: Final = 16 << 20
_FORM: Final = 1
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cursor:
    """What was seen: ``newest`` is the latest time of it, empty at first.

    ``seen`` maps names to (version, time) for all that is not older than the overlap, or has
    no time.
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

    def believed(self, until: str) -> "Cursor":
        """The cursor as it is, or gone back to the newest time seen that is not after ``until``."""
        return self if self.newest <= until else Cursor(_newest(self.seen, until), self.seen)

    def after(
        self, handled: Iterable[Found], waiting: Iterable[Found] = (), until: str = _END
    ) -> "Cursor":
        """The cursor once these are handled.

        It does not pass ``until``, which is a time, nor what is ``waiting``, which stays new
        for however long that takes.
        """
        seen = dict(self.seen) | {one.name: (one.version, one.seen_at) for one in handled}
        newest = max(self.newest, _newest(seen, until))
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


def latest_believed(now: str) -> str:
    """The latest time that is believed to have come already; ``now`` is RFC 3339 in UTC."""
    moment = _time(now, "now")
    return rfc3339(moment + AHEAD) if _LAST - moment > AHEAD else _END


def _newest(seen: Mapping[str, tuple[str, str]], until: str) -> str:
    return max((when for _, when in seen.values() if when <= until), default="")


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
    moment = _time(newest, "cursor")
    # Nothing lies behind the first days of all.
    return rfc3339(moment - OVERLAP) if moment - _FIRST > OVERLAP else ""
