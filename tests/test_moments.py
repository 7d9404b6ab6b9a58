"""Moments as they are stored: other spellings of the same ones would be other bytes."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.moments import epoch_rfc3339, in_utc, rfc3339
from scenemosaic.plans.plan import utc_datetime

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1000, 1, 2), datetime(9999, 12, 30), timezones=ZONES)


@given(MOMENTS)
def test_whole_seconds_and_a_z(moment: datetime) -> None:
    assert rfc3339(moment) == moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@given(MOMENTS)
def test_a_plan_keeps_microseconds_and_writes_none_where_there_are_none(moment: datetime) -> None:
    form = "%Y-%m-%dT%H:%M:%S.%fZ" if moment.microsecond else "%Y-%m-%dT%H:%M:%SZ"
    spelled = moment.astimezone(UTC).strftime(form)
    assert rfc3339(moment, whole=False) == utc_datetime(moment.isoformat()) == spelled


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 30)))
def test_what_names_no_zone_is_in_utc(moment: datetime) -> None:
    assert in_utc(moment) == moment.replace(tzinfo=UTC)
    seconds = in_utc(moment).timestamp()
    assert epoch_rfc3339(int(seconds)) == rfc3339(datetime.fromtimestamp(int(seconds), UTC))
