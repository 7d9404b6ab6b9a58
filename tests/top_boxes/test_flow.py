"""The flow makes boxes before it puts a mosaic together, and never needs them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prefect.client.schemas.objects import State

from blocks.mosaic_recipe import RecipeFields
from flows.engines import batches
from flows.engines.limits import Limits
from flows.engines.own_cluster import OwnCluster
from flows.process import process_scene
from flows.reports.scene import ProcessReport
from flows.scenes import top_boxes
from flows.scenes.session import Session, Silent
from flows.scenes.stopwatch import Stopwatch
from flows.scenes.tally import Tally
from scenemosaic import job, keys
from scenemosaic.errors import PermanentStoreError
from scenemosaic.job import JobSpec, Run
from scenemosaic.mosaic.top import Box
from scenemosaic.top_boxes import committing
from tests.flows.scenes import BLOCK, WINDOW, make_scene

RECIPE = RecipeFields(window=WINDOW, block_size=BLOCK)
WINDOWS, BOXES = 12, 4


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    return make_scene(tmp_path / "scene.tif")


def run(scene: Path, root: Path) -> "State[ProcessReport]":
    return process_scene([str(scene)], str(root), recipe=RECIPE, workers=2, return_state=True)


def report_of(state: "State[ProcessReport]") -> ProcessReport:
    value = state.result(raise_on_failure=False)
    assert isinstance(value, ProcessReport)
    return value


def spec_of(scene: Path, root: Path) -> JobSpec:
    return job.plan_job([str(scene)], str(root), None, RECIPE.options())


def boxes_in(root: Path, job_id: str) -> list[Path]:
    return sorted((root / keys.top_boxes_prefix(job_id)).parent.glob("top-*"))


def mapped(monkeypatch: pytest.MonkeyPatch, spec: JobSpec) -> list[Any]:
    """What the flow's stage would map."""
    found: list[Any] = []
    monkeypatch.setattr(top_boxes, "_map", lambda boxes, *_: found.append(boxes))
    session, watch = Session(spec, Silent()), Stopwatch()
    tally = Tally(WINDOWS, Silent())
    cluster = OwnCluster(Limits(1))
    top_boxes.make_boxes(session, Run("again", "again"), cluster, watch, tally)
    return found


@pytest.mark.usefixtures("harness")
def test_boxes_are_made_once_and_a_second_run_maps_none(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    first = report_of(run(scene, root))
    assert [stage.name for stage in first.stages][-2:] == ["top boxes", "assembly"]
    assert (first.written, first.totals["objects_written"]) == (WINDOWS, 4 + BOXES)
    stand = boxes_in(root, first.job_id)
    assert len(stand) == BOXES
    assert first.mosaic is not None
    assert run(scene, root).name == "AlreadyMosaicked"
    spec = spec_of(scene, root)
    for path in stand:
        path.unlink()
    assert mapped(monkeypatch, spec) == [], "the mosaic stands: whoever comes late makes no box"
    (root / keys.item_key(first.job_id)).unlink()
    assert [len(boxes) for boxes in mapped(monkeypatch, spec)] == [BOXES]


@pytest.mark.usefixtures("harness")
def test_a_fault_of_the_boxes_is_none_of_the_run(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def denied(*_: Any) -> None:
        raise PermanentStoreError("PutObject: AccessDenied")

    monkeypatch.setattr(committing, "_put", denied)
    state = run(scene, tmp_path / "root")
    report = report_of(state)
    assert (state.name, report.exit_code, report.written) == ("Mosaicked", 0, WINDOWS)
    assert boxes_in(tmp_path / "root", report.job_id) == []
    assert "AccessDenied" in caplog.text


def test_boxes_come_in_batches_like_windows(scene: Path, tmp_path: Path) -> None:
    recipe = spec_of(scene, tmp_path / "root").plan.recipe
    boxes = [Box(1, row, 0) for row in range(10_000)]
    assert top_boxes.box_batch_size(recipe, boxes, 2) <= batches.MAX_WINDOWS
    assert top_boxes.box_batch_size(recipe, boxes[:6], 2) == 1
    large = [replace(box, up=5) for box in boxes]
    assert 1 <= top_boxes.box_batch_size(recipe, large, 2) < 10
