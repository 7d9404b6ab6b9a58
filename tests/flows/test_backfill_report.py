"""A backfill's rows add up to one exit code and one named state."""

from dataclasses import replace

import pytest

from flows.reports.backfill import BackfillReport, SceneRow

CODES = {
    "Mosaicked": 0,
    "AlreadyMosaicked": 0,
    "WouldRun": 0,
    "BadInput": 2,
    "Incomplete": 3,
    "Crashed": 3,
    "ForeignObject": 4,
    "StoreFault": 5,
}


def report(*states: str, dry_run: bool = False) -> BackfillReport:
    rows = tuple(
        SceneRow(f"{number}.tif", "ab" * 16, state, "", CODES[state])
        for number, state in enumerate(states)
    )
    return BackfillReport(rows, dry_run)


@pytest.mark.parametrize(
    ("states", "name", "failed", "code"),
    [
        ([], "NothingFound", False, 0),
        (["AlreadyMosaicked"] * 2, "AlreadyMosaicked", False, 0),
        (["AlreadyMosaicked", "Mosaicked"], "Backfilled", False, 0),
        (["Mosaicked", "ForeignObject"], "Conflict", False, 4),
        (["Mosaicked", "BadInput"], "Incomplete", True, 3),
        (["BadInput", "BadInput"], "Incomplete", True, 2),
        (["Mosaicked", "StoreFault"], "Incomplete", True, 5),
        (["StoreFault", "Incomplete"], "Incomplete", True, 3),
        (["ForeignObject", "StoreFault"], "Incomplete", True, 3),
        (["Crashed"], "Incomplete", True, 3),
    ],
)
def test_state_and_exit_code(states: list[str], name: str, failed: bool, code: int) -> None:
    found = report(*states)
    assert (found.state, found.has_failed, found.exit_code) == (name, failed, code)
    assert found.to_json()["exit_code"] == code


def test_a_dry_run_exits_as_the_run_would() -> None:
    assert report("WouldRun", "BadInput", dry_run=True).exit_code == 3
    assert report("BadInput", dry_run=True).exit_code == 2
    assert report("WouldRun", dry_run=True).state == "DryRun"


def test_the_summary_counts() -> None:
    assert report("Mosaicked", "BadInput", "Mosaicked").summary == (
        "3 scenes: 1 BadInput, 2 Mosaicked"
    )


def test_scenes_without_a_time_are_counted_once() -> None:
    found = report("Mosaicked", "Mosaicked", "AlreadyMosaicked", "BadInput")
    assert found.note is None
    *made, bad = (replace(row, undated=row.job_id is not None) for row in found.rows)
    note = BackfillReport((*made, replace(bad, undated=False)), False).note
    assert note is not None
    assert note.startswith("2 scenes of 4 without a time: ")
