"""``Retry-After``, as every service may answer it: seconds, or an HTTP date. Pure."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_s(
    headers: Mapping[str, str], now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> float | None:
    """How long the service asks to wait, in seconds; None where it says nothing that can be read.

    A date is reckoned from the service's own ``Date``, and from ``now`` where it tells none.
    """
    said = _header(headers, "Retry-After").strip()
    if said.isascii() and said.isdecimal():
        return float(said)
    until = _date(said)
    if until is None:
        return None
    since = _date(_header(headers, "Date")) or now()
    return max((until - since).total_seconds(), 0.0)


def _header(headers: Mapping[str, str], name: str) -> str:
    # botocore's are in lower case, requests' in any.
    return headers.get(name) or headers.get(name.lower()) or ""


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
