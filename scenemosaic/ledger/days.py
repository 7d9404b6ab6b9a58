"""Days in a time zone: which one a moment belongs to, and when the next one begins."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from scenemosaic.errors import InputError


def zone_of(name: str) -> ZoneInfo:
    """The IANA time zone of that name, or InputError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(
            f"{name!r} is no time zone known here; write one such as Europe/Berlin or UTC"
        ) from error


def day_of(moment: datetime, zone: ZoneInfo) -> date:
    """The local date of an aware moment."""
    return moment.astimezone(zone).date()


def next_day_at(day: date, zone: ZoneInfo) -> datetime:
    """The first moment after ``day``, in UTC. Days of 23 and 25 hours are counted as they are.

    A midnight that a clock skips is the moment at which it skips it.
    """
    # Of a repeated midnight the first one is meant: fold is 0.
    midnight = datetime.combine(day + timedelta(days=1), time(), tzinfo=zone)
    return midnight.astimezone(UTC)
