"""Moments and reservations of tests, spelled shortly."""

from datetime import UTC, datetime

from scenemosaic.ledger.state import Published, Reservation

JOB = "0123456789abcdef" * 2
FACTS = Published(0, "d" * 64, '"etag"', "v1")


def at(text: str) -> datetime:
    """``2026-03-29T00:30`` in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


NOON = at("2026-06-01T12:00")


def wish(
    run_id: str,
    since: datetime = NOON,
    slots: int = 2,
    time_zone: str = "UTC",
    job_id: str = JOB,
) -> Reservation:
    return Reservation(run_id, job_id, since, slots, time_zone, "op@host")
