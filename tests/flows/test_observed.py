"""Outcomes as people see them in Prefect: only what occurred is in the table."""

from flows.observed import outcome_table
from flows.report import ProcessReport


def test_what_other_objects_met_is_added_and_what_they_came_to_is_not() -> None:
    windows = {
        "refused": 2,
        "own_write_recovered": 1,
        "written": 4,
        "created_over_delete_marker": 1,
    }
    objects = {"refused": 3, "ambiguous": 1, "written": 3, "already_present": 1, "superseded": 1}
    report = ProcessReport("j", 4, 4, 0, (), 1.0, counters=windows, objects=objects)
    assert {row["outcome"]: row["count"] for row in outcome_table(report)} == {
        "written": 4,
        "ConditionalWritePreconditionFailed": 5,
        "own_write_recovered": 1,
        "ambiguous": 1,
        "created_over_delete_marker": 1,
        "objects_written": 3,
        "objects_already_present": 1,
        "objects_superseded": 1,
    }
    assert report.to_json()["counters"] == report.totals
    assert report.totals["conflict_409_retried"] == 0


def test_only_what_occurred_is_in_the_table() -> None:
    counters = {"refused": 3, "ambiguous": 0, "written": 2, "diverged": 1}
    report = ProcessReport("j", 5, 2, 2, ("0000_0001",), 1.0, counters=counters)
    assert outcome_table(report) == [
        {"outcome": "written", "count": 2},
        {"outcome": "already_present", "count": 2},
        {"outcome": "missing", "count": 1},
        {"outcome": "ConditionalWritePreconditionFailed", "count": 3},
        {"outcome": "diverged", "count": 1},
    ]
