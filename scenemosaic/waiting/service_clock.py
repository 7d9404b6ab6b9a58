"""This machine's clock, and what a service's answers say of it: requests are signed by it."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from scenemosaic.ages import spell_age
from scenemosaic.moments import http_date

# AWS and Azure refuse from 5 or 15 minutes on; an answer is seldom that old when it is read.
_OFF_S: Final = 240.0


def header(headers: Mapping[str, str], name: str) -> str:
    """A header's text, ``""`` where there is none."""
    # botocore's are in lower case, requests' in any.
    return headers.get(name) or headers.get(name.lower()) or ""


def now_utc() -> datetime:
    """The time of day, by this machine."""
    return datetime.now(UTC)


def clock_advice(headers: Mapping[str, str], now: Callable[[], datetime] = now_utc) -> str:
    """The end of a message where a refused request may have been signed at a wrong time, or ``""``.

    A HEAD's refusal has no other words: neither a code nor a text.
    """
    said = http_date(header(headers, "Date"))
    ahead_s = 0.0 if said is None else (now() - said).total_seconds()
    if abs(ahead_s) < _OFF_S:
        return ""
    where = "ahead of" if ahead_s > 0 else "behind"
    return f"; this machine's clock is {spell_age(abs(ahead_s))} {where} the service's: set it"
