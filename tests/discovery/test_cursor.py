"""The cursor of a schedule: nothing is seen twice, and nothing that comes late is lost."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.discovery.cursor import OVERLAP, Cursor, latest_believed, load
from scenemosaic.discovery.found import Found
from scenemosaic.errors import InputError

START = datetime(2024, 5, 1, tzinfo=UTC)


def found(name: str, hours: float = 0, version: str = "v1") -> Found:
    moment = (START + timedelta(hours=hours)).replace(microsecond=0)
    return Found(f"s3://b/{name}", version, moment.isoformat().replace("+00:00", "Z"))


def undated(name: str, version: str) -> Found:
    return Found(f"s3://b/{name}", version, "")


versions = st.sampled_from(["v1", "v2"])
scenes = st.lists(
    st.builds(found, st.sampled_from("abcdef"), st.integers(0, 48), versions)
    | st.builds(undated, st.sampled_from("xyz"), versions),
    unique_by=lambda one: one.source,
)


@given(st.lists(scenes, max_size=6))
def test_each_version_is_new_exactly_once(rounds: list[list[Found]]) -> None:
    cursor, started = Cursor(), list[tuple[str, str]]()
    last: dict[str, str] = {}
    for listing in rounds:
        new = cursor.fresh(listing)
        assert {one.source for one in new} == {
            one.source for one in listing if last.get(one.source) != one.version
        }
        started += [(one.source, one.version) for one in new]
        last |= {one.source: one.version for one in listing}
        cursor = load(cursor.after(new).dump("w"), "cursor")
        assert cursor.fresh(listing) == []


def test_what_appears_late_within_the_overlap_is_new() -> None:
    cursor = Cursor().after([found("a", 100)])
    assert cursor.fresh([found("b", 90)]) == [found("b", 90)]


def test_the_cursor_forgets_what_lies_behind_the_overlap_and_does_not_start_it_again() -> None:
    old, new = found("old"), found("new", OVERLAP.total_seconds() / 3600 + 1)
    cursor = Cursor().after([old]).after([new])
    assert list(cursor.seen) == [new.source]
    assert cursor.fresh([old, new]) == []


def test_what_has_no_time_is_never_forgotten() -> None:
    one = undated("x", "v1")
    cursor = Cursor().after([one]).after([found("a"), found("b", 24 * 30)])
    cursor = load(cursor.dump("w"), "cursor")
    assert cursor.fresh([one, undated("y", "v1")]) == [undated("y", "v1")]
    assert cursor.after([found("c", 24 * 60)], [undated("y", "v1")]).fresh([one]) == []


def test_a_failed_one_stays_new() -> None:
    one, other = found("a", 1), found("b", 2)
    cursor = Cursor().after([other])
    assert cursor.fresh([one, other]) == [one]


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"not json",
        b'{"form":2,"newest":"","seen":{},"write_id":"w"}',
        b'{"form":1,"newest":"yesterday","seen":{},"write_id":"w"}',
        b'{"form":1,"newest":"","seen":{"s3://b/a":"v1"},"write_id":"w"}',
        b'{"form":1,"newest":"","seen":{"s3://b/a":["v1","soon"]},"write_id":"w"}',
    ],
)
def test_a_cursor_that_is_none_of_ours_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"s3://b/ledger/ingest-x\.json"):
        load(data, "s3://b/ledger/ingest-x.json")


def test_a_time_ahead_of_the_clock_hides_nothing_that_comes_until_then() -> None:
    typo, until = found("typo", 24 * 365 * 75), latest_believed(found("now", 10).seen_at)
    cursor = load(Cursor().after([found("a", 9), typo], (), until).dump("w"), "cursor")
    assert cursor.newest == found("a", 9).seen_at
    assert cursor.fresh([found("a", 9), typo, found("b", 11)]) == [found("b", 11)]
    assert cursor.after([found("b", 11)], (), until).fresh([typo]) == [], "it is remembered"


def test_a_cursor_that_got_ahead_goes_back() -> None:
    typo, until = found("typo", 24 * 365 * 75), latest_believed(found("now", 10).seen_at)
    ahead = Cursor().after([found("a", 9), typo])
    assert ahead.fresh([found("b", 11)]) == []
    assert ahead.believed(until).fresh([typo, found("b", 11)]) == [found("b", 11)]
    moved = ahead.believed(until).after([found("b", 11)], (), until)
    assert moved == moved.believed(until)


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_the_ends_of_the_calendar_are_times_like_others(when: str) -> None:
    one = Found("s3://b/a", "v1", when)
    assert latest_believed(when) >= when
    for until in (when, latest_believed(when)):
        cursor = load(Cursor().after([one], (), until).dump("w"), "cursor")
        assert cursor.fresh([one]) == []


@given(scenes.filter(bool), st.data())
def test_what_waits_stays_new_however_late_the_others_came(
    listing: list[Found], data: st.DataObject
) -> None:
    waiting = data.draw(st.lists(st.sampled_from(listing), unique=True))
    late = found("late", 24 * 365)
    handled = [*(one for one in listing if one not in waiting), late]
    cursor = load(Cursor().after(handled, waiting).dump("w"), "cursor")
    assert cursor.fresh([*listing, late]) == sorted(
        waiting, key=lambda one: (one.seen_at, one.source)
    )
