"""Days as people in a time zone count them: 23 and 25 hours, midnights skipped and repeated."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.errors import InputError
from scenemosaic.ledger.days import day_of, next_day_at, zone_of
from tests.ledger.times import at

# Every kind of midnight: plain, skipped (Cairo, Beirut, Havana), repeated (Havana, Azores),
# half hours, a day that never was (Apia), and dates on either side of UTC's.
ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Africa/Cairo", "Asia/Beirut", "America/Havana",
    "Atlantic/Azores", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia",
    "Pacific/Kiritimati", "Pacific/Pago_Pago",
)  # fmt: skip


@pytest.mark.parametrize(
    ("zone", "day", "begins", "ends"),
    [
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00", "2026-03-29T22:00"),  # 23 hours
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00", "2026-10-25T23:00"),  # 25 hours
        ("Europe/Berlin", "2026-06-01", "2026-05-31T22:00", "2026-06-01T22:00"),
        ("Africa/Cairo", "2024-04-26", "2024-04-25T22:00", "2024-04-26T21:00"),  # begins at 01:00
        ("America/Havana", "2024-11-03", "2024-11-03T04:00", "2024-11-04T05:00"),  # 00:00 twice
        ("Pacific/Apia", "2011-12-29", "2011-12-29T10:00", "2011-12-30T10:00"),  # no 30th
    ],
)
def test_where_a_day_begins_and_ends(zone: str, day: str, begins: str, ends: str) -> None:
    here, second = zone_of(zone), timedelta(seconds=1)
    wanted = date.fromisoformat(day)
    assert day_of(at(begins), here) == wanted
    assert day_of(at(begins) - second, here) < wanted
    assert next_day_at(wanted, here) == at(ends)
    assert day_of(at(ends) - second, here) == wanted
    assert day_of(at(ends), here) > wanted


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),
    st.sampled_from(ZONES),
)
def test_the_next_day_begins_after_this_one_and_not_a_second_late(
    moment: datetime, zone: str
) -> None:
    here = zone_of(zone)
    today = day_of(moment, here)
    next_at = next_day_at(today, here)
    assert moment < next_at <= moment + timedelta(hours=25)
    assert day_of(next_at, here) > today
    assert day_of(next_at - timedelta(seconds=1), here) == today


@pytest.mark.parametrize("name", ["", "Berlin", "../etc/passwd", "Europe", "/etc/localtime", "\0"])
def test_a_zone_that_is_none_is_named(name: str) -> None:
    with pytest.raises(InputError, match="time zone"):
        zone_of(name)
