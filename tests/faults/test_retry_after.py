"""How long a service asks to wait, however it says so."""

from datetime import UTC, datetime

import pytest

from scenemosaic.waiting.retry_after import retry_after_s

NOW = datetime(2026, 11, 29, 18, 0, 0, tzinfo=UTC)
LATER = "Sun, 29 Nov 2026 18:00:30 GMT"


@pytest.mark.parametrize(
    ("said", "wait_s"),
    [
        ("0", 0.0),
        (" 120 ", 120.0),
        (LATER, 30.0),
        ("Sunday, 29-Nov-26 18:00:30 GMT", 30.0),
        ("Sun, 29 Nov 2026 19:00:30 +0100", 30.0),
        ("Sun Nov 29 18:00:30 2026", 30.0),
        ("Sun, 29 Nov 2026 17:59:00 GMT", 0.0),
        *((said, None) for said in ("", "soon", "-1", "1.5", "٣", "Sun, 99 Nov 2026", "1e400")),
    ],
)
def test_seconds_or_a_date(said: str, wait_s: float | None) -> None:
    assert retry_after_s({"Retry-After": said}, lambda: NOW) == wait_s
    assert retry_after_s({"retry-after": said}, lambda: NOW) == wait_s


def test_a_date_is_reckoned_from_the_services_own() -> None:
    headers = {"retry-after": LATER, "date": "Sun, 29 Nov 2026 18:00:20 GMT"}
    assert retry_after_s(headers, lambda: NOW) == 10.0
    assert retry_after_s({**headers, "date": "nonsense"}, lambda: NOW) == 30.0


def test_nothing_said_is_nothing_read() -> None:
    assert retry_after_s({}) is None
