"""What holds on every cluster: the same mosaic as on threads, whichever worker dies on the way."""

from pathlib import Path
from typing import Any

import pytest
from prefect.client.schemas.objects import State

from blocks.mosaic_recipe import RecipeFields
from flows import cli
from flows.process import process_scene
from flows.reports.scene import ProcessReport
from scenemosaic import job, keys
from scenemosaic.errors import ForeignObject
from scenemosaic.mosaic import top_boxes as which
from tests.engines import armed
from tests.flows.scenes import BLOCK, WINDOW
from tests.jobs.conftest import local_place, write_scene
from tests.jobs.places import MakePlace
from tests.repair.made import Made, make

__all__ = ["local_place"]

pytestmark = [pytest.mark.usefixtures("api"), pytest.mark.slow]
RECIPE = RecipeFields(window=WINDOW, block_size=BLOCK)
WINDOWS, BOXES = 12, 4
WRONG = ("0000_0001", "0001_0000", "0002_0002")


def run(
    scene: Path, root: Path, per_task: int | None = None, **engine: str
) -> tuple["State[ProcessReport]", ProcessReport]:
    given: Any = {"windows_per_task": per_task, **engine}
    state = process_scene([str(scene)], str(root), recipe=RECIPE, return_state=True, **given)
    value = state.result(raise_on_failure=False)
    assert isinstance(value, ProcessReport), value
    return state, value


def mosaic_of(root: Path, report: ProcessReport) -> bytes:
    return (root / keys.mosaic_key(report.job_id)).read_bytes()


@pytest.fixture
def made(local_place: MakePlace, tmp_path: Path) -> Made:
    """A job some of whose tiles are damaged."""
    made = make(local_place(), write_scene(tmp_path / "scene.tif", 192, 192))
    for name in WRONG:
        made.damage(made.tile_key(name))
    return made


def test_a_killed_worker_costs_the_window_that_it_had_in_hand(
    scene: Path, tmp_path: Path, engine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    notes, mark = tmp_path / "notes", tmp_path / "killed"
    monkeypatch.setattr("tasks.commit_windows.resume_windows", armed.Windows(notes, mark))
    state, report = run(scene, tmp_path / "cluster", per_task=6, **engine)
    assert mark.exists()
    assert state.name == "Mosaicked"
    assert (report.written, report.already_present, report.missing) == (WINDOWS, 0, ())
    computed = notes.read_text().splitlines()
    assert len(computed) == len(set(computed)) == WINDOWS
    _, threads = run(scene, tmp_path / "threads")
    assert report.job_id == threads.job_id
    assert mosaic_of(tmp_path / "cluster", report) == mosaic_of(tmp_path / "threads", threads)


def test_a_killed_worker_costs_the_box_that_it_had_in_hand(
    scene: Path, tmp_path: Path, engine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(which, "FROM_WINDOWS", 2)
    monkeypatch.setattr(which, "MOST_LEVELS", 1)
    mark = tmp_path / "killed"
    monkeypatch.setattr("tasks.make_top_boxes.make_boxes", armed.Boxes(mark))
    _, found = run(scene, tmp_path / "cluster", **engine)
    assert mark.exists()
    assert (found.exit_code, found.written, found.missing) == (0, WINDOWS, ())
    assert found.totals["objects_written"] == 4 + BOXES
    folder = (tmp_path / "cluster" / keys.top_boxes_prefix(found.job_id)).parent
    assert len(list(folder.glob("top-*"))) == BOXES
    monkeypatch.setattr("flows.scenes.top_boxes.missing_boxes", lambda spec: ())
    _, threads = run(scene, tmp_path / "threads")
    assert threads.totals["objects_written"] == 4
    assert mosaic_of(tmp_path / "cluster", found) == mosaic_of(tmp_path / "threads", threads)


def test_what_a_killed_worker_had_repaired_is_told_and_not_repaired_again(
    made: Made,
    tmp_path: Path,
    engine: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mark = tmp_path / "killed"
    monkeypatch.setattr("tasks.repair_windows.engine", armed.Repairs(mark))
    where = ["--to", made.spec.root, "--manifest", made.spec.manifest, "--source", str(made.scene)]
    given = [f"--{name.replace('_', '-')}={value}" for name, value in engine.items()]
    assert cli.run(["repair", made.job_id, *where, *given]) == 0
    assert mark.exists()
    assert "3 written" in capsys.readouterr().out
    assert len(made.records("replaced")) == len(WRONG)
    for name in WRONG:
        made.row_describes(name)


def test_a_conflict_ends_the_run_and_is_not_tried_again(
    scene: Path, tmp_path: Path, engine: dict[str, str]
) -> None:
    spec = job.plan_job([str(scene)], str(tmp_path / "root"), None, RECIPE.options())
    foreign = tmp_path / "root" / keys.tile_key(spec.plan.job_id, "0000_0001")
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"not ours")
    state, report = run(scene, tmp_path / "root", per_task=1, **engine)
    assert isinstance(report.error, ForeignObject)
    assert state.name == "ForeignObject"
    assert "0000_0001" in report.missing
    assert foreign.read_bytes() == b"not ours"
