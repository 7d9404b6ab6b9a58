"""Outcomes as people see them in Prefect: only what occurred is in the table."""

from flows.observed import outcome_table
from flows.report import ProcessReport


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
