"""Outcomes as people see them in Prefect: only what occurred is in the table."""

from pathlib import Path
from typing import Any

import pytest

from flows.reports.scene import ProcessReport
from flows.shown import observed
from flows.shown.observed import outcome_table
from scenemosaic import job
from scenemosaic.errors import (
    ForeignObject,
    IncompleteError,
    SceneMosaicError,
    TransientStoreError,
)
from scenemosaic.job import JobSpec, MosaicResult, PlanOptions
from tests.flows.scenes import BLOCK, WINDOW

WINDOWS = 12


@pytest.fixture
def spec(scene: Path, tmp_path: Path) -> JobSpec:
    return job.plan_job([str(scene)], str(tmp_path / "root"), None, PlanOptions(WINDOW, BLOCK))


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    seen: dict[str, dict[str, Any]] = {}

    def emit(name: str, **more: Any) -> None:
        assert name not in seen, "one of a kind a run"
        seen[name] = more

    monkeypatch.setattr(observed, "emit_event", emit)
    return seen


def report(
    spec: JobSpec, present: int, missing: int = 0, error: SceneMosaicError | None = None
) -> ProcessReport:
    names = [window.name for window in spec.plan.recipe.tiling().windows()]
    wrote, gone = tuple(names[present : WINDOWS - missing]), tuple(names[WINDOWS - missing :])
    outcome = "written" if wrote else "already-present"
    found = None if error else MosaicResult("m", outcome, "e", None, 9, "d" * 64, None, "i", "p")
    return ProcessReport(
        spec.plan.job_id, WINDOWS, len(wrote), present, gone, 1.0, found, error, wrote=wrote
    )


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


def test_events_of_a_mosaic_that_was_written(
    spec: JobSpec, events: dict[str, dict[str, Any]]
) -> None:
    observed.emit(spec, report(spec, present=3))
    assert set(events) == {
        "scenemosaic.job.outcomes",
        "scenemosaic.tile.already-present",
        "scenemosaic.mosaic.written",
    }
    assert events["scenemosaic.tile.already-present"]["payload"]["count"] == 3
    resources = {one["resource"]["prefect.resource.id"] for one in events.values()}
    assert resources == {f"scenemosaic.job.{spec.plan.job_id}"}


def test_events_where_all_was_there(spec: JobSpec, events: dict[str, dict[str, Any]]) -> None:
    observed.emit(spec, report(spec, present=WINDOWS))
    assert set(events) == {"scenemosaic.job.outcomes", "scenemosaic.tile.already-present"}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (IncompleteError("a gap"), True),
        (TransientStoreError("503"), True),
        (ForeignObject("somebody's"), False),
    ],
)
def test_events_of_a_job_that_is_incomplete(
    spec: JobSpec, events: dict[str, dict[str, Any]], error: SceneMosaicError, told: bool
) -> None:
    observed.emit(spec, report(spec, present=0, missing=2, error=error))
    assert ("scenemosaic.job.incomplete" in events) == told
    if told:
        payload = events["scenemosaic.job.incomplete"]["payload"]
        assert (payload["missing"], payload["kind"]) == (2, error.kind)


def test_every_window_has_a_state(spec: JobSpec) -> None:
    states = observed.window_states(spec, report(spec, present=3, missing=2))
    assert sorted(states.values()) == ["already there"] * 3 + ["missing"] * 2 + ["written"] * 7
