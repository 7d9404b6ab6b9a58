"""``Retry-After``, as every service may answer it: seconds, or an HTTP date. Pure."""

from collections.abc import Callable, Mapping
from datetime import datetime

from scenemosaic.moments import http_date
from scenemosaic.waiting.service_clock import header, now_utc


def retry_after_s(
    headers: Mapping[str, str], now: Callable[[], datetime] = now_utc
) -> float | None:
    """How long the service asks to wait, in seconds; None where it says nothing that can be read.

    A date is reckoned from the service's own ``Date``, and from ``now`` where it tells none.
    """
    said = header(headers, "Retry-After").strip()
    if said.isascii() and said.isdecimal():
        return float(said)
    until = http_date(said)
    if until is None:
        return None
    since = http_date(header(headers, "Date")) or now()
    return max((until - since).total_seconds(), 0.0)
