"""Moments as others write them, in UTC on every machine: what names no zone is no local time."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC; one without a zone is UTC's.

    Raises OverflowError where its year is then none from 1 to 9999.
    """
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def http_date(text: str | None) -> datetime | None:
    """The moment of an HTTP date in any of its three forms, in UTC; None where it is none."""
    try:
        return in_utc(parsedate_to_datetime(text or ""))
    except (ValueError, OverflowError):
        return None


def rfc3339(moment: datetime, *, whole: bool = True) -> str:
    """``2024-05-01T10:20:30Z``, cut to whole seconds; else with the microseconds it has, if any.

    Raises as :func:`in_utc` does.
    """
    spelled = in_utc(moment).isoformat(timespec="seconds" if whole else "auto")
    return spelled.replace("+00:00", "Z")


def epoch_rfc3339(seconds: float) -> str:
    """The same of a moment in seconds since 1970, cut to whole ones."""
    return rfc3339(datetime.fromtimestamp(int(seconds), UTC))
