"""``Retry-After``, as every service may answer it: seconds, or an HTTP date. Pure."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from scenemosaic.moments import http_date


def retry_after_s(
    headers: Mapping[str, str], now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> float | None:
    """How long the service asks to wait, in seconds; None where it says nothing that can be read.

    A date is reckoned from the service's own ``Date``, and from ``now`` where it tells none.
    """
    said = _header(headers, "Retry-After").strip()
    if said.isascii() and said.isdecimal():
        return float(said)
    until = http_date(said)
    if until is None:
        return None
    since = http_date(_header(headers, "Date")) or now()
    return max((until - since).total_seconds(), 0.0)


def _header(headers: Mapping[str, str], name: str) -> str:
    # botocore's are in lower case, requests' in any.
    return headers.get(name) or headers.get(name.lower()) or ""
