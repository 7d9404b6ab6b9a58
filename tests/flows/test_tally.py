"""The tally: outcomes add up to the plan's windows, whatever came how often and from where."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.reports.scene import ProcessReport
from flows.scenes.session import Silent
from flows.scenes.tally import Tally
from scenemosaic.errors import IncompleteError
from scenemosaic.gaps import GapReport
from scenemosaic.job import WindowOutcome

NAMES = [f"0000_{col:04d}" for col in range(12)]
events = st.lists(
    st.builds(
        WindowOutcome,
        st.sampled_from(NAMES),
        st.sampled_from(["written", "already-present", "failed"]),
    ),
    max_size=40,
)


def report(tally: Tally) -> ProcessReport:
    return tally.report("a" * 32, None, None, (), 1.0)


@given(st.sets(st.sampled_from(NAMES)), events, st.sets(st.sampled_from(NAMES)) | st.none())
def test_counts_add_up(
    missing: set[str], outcomes: list[WindowOutcome], gaps: set[str] | None
) -> None:
    tally = Tally(len(NAMES), Silent())
    tally.begin(missing)
    for outcome in outcomes:
        tally.add(outcome)
    if gaps:
        with pytest.raises(IncompleteError):
            tally.check(GapReport(len(NAMES), len(NAMES) - len(gaps), tuple(sorted(gaps))))
    found = report(tally)
    assert found.written + found.already_present + len(found.missing) == found.windows
    assert min(found.written, found.already_present) >= 0
    if gaps:
        assert set(found.missing) == gaps


def test_what_the_first_try_wrote_stays_written() -> None:
    tally = Tally(2, Silent())
    tally.begin(NAMES[:2])
    tally.add(WindowOutcome(NAMES[0], "written"))
    tally.add(WindowOutcome(NAMES[0], "already-present"))
    tally.add(WindowOutcome(NAMES[1], "already-present"))
    assert (report(tally).written, report(tally).already_present) == (1, 1)


def test_a_gap_is_named_with_its_reason() -> None:
    tally = Tally(2, Silent())
    tally.begin(NAMES[:2])
    tally.add(WindowOutcome(NAMES[0], "failed", error="scene.tif: block 3 does not decode"))
    with pytest.raises(IncompleteError, match=r"0000_0000 \(scene\.tif: block 3 does not decode\)"):
        tally.check(GapReport(2, 1, (NAMES[0],)))


def closing(*outcomes: WindowOutcome) -> str:
    tally = Tally(len(NAMES), Silent())
    for outcome in outcomes:
        tally.add(outcome)
    with pytest.raises(IncompleteError) as caught:
        tally.check(GapReport(len(NAMES), 0, tuple(one.window for one in outcomes)))
    return str(caught.value).rpartition("what is committed stays")[2]


def test_what_running_again_cannot_change_is_not_told_to_be_run_again() -> None:
    broken = WindowOutcome(NAMES[0], "failed", error="no answer")
    first, other = (WindowOutcome(name, "failed", remedy="do so") for name in NAMES[1:3])
    third = WindowOutcome(NAMES[3], "failed", remedy="do this")
    assert closing(broken) == ", and the same command goes on there"
    assert closing(first) == closing(first, other) == "; do so"
    assert closing(first, third) == f"; do so ({NAMES[1]}); do this ({NAMES[3]})"
    with_others = f", and the same command goes on there with {NAMES[0]}"
    assert closing(broken, first, other) == f"{with_others}; do so ({NAMES[1]}, {NAMES[2]})"


def test_many_gaps_are_counted_and_a_few_named() -> None:
    tally = Tally(12, Silent())
    with pytest.raises(IncompleteError, match=r"12 of 12 windows are missing: .* and 4 more"):
        tally.check(GapReport(12, 0, tuple(NAMES)))


def test_many_threads_lose_nothing() -> None:
    names = [f"{row:04d}_{col:04d}" for row in range(8) for col in range(200)]
    tally = Tally(len(names), Silent())
    tally.begin(names)

    def work(part: list[str]) -> None:
        for name in part:
            tally.add(WindowOutcome(name, "written"))
            tally.count({"written": 1})

    threads = [threading.Thread(target=work, args=(names[i::8],)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert report(tally).written == len(names)
    assert report(tally).counters == {"written": len(names)}
