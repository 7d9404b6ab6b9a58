"""Top boxes on a Dask cluster one of whose workers is killed: the same mosaic, each box once."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, WorkerPlugin

from flows.process import process_scene
from flows.report import ProcessReport
from scenemosaic import keys
from scenemosaic.top_boxes import committing, which
from tests.engines.test_dask import RECIPE, WINDOWS

pytestmark = [pytest.mark.usefixtures("api"), pytest.mark.slow]
BOXES = 4


class KilledOnce(WorkerPlugin):
    """The first process that has made a box dies before it is committed."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def setup(self, worker: Any) -> None:
        self._real = committing.make_box
        committing.make_box = self._make_box

    def teardown(self, worker: Any) -> None:
        committing.make_box = self._real

    def _make_box(self, *given: Any) -> Any:
        made = self._real(*given)
        try:
            os.close(os.open(self._mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return made
        os.kill(os.getpid(), signal.SIGKILL)
        return made


def run(scene: Path, root: Path, **engine: Any) -> ProcessReport:
    state = process_scene([str(scene)], str(root), recipe=RECIPE, return_state=True, **engine)
    value = state.result(raise_on_failure=False)
    assert isinstance(value, ProcessReport)
    return value


def test_a_killed_worker_costs_the_box_that_it_had_in_hand(
    scene: Path, tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(which, "FROM_WINDOWS", 2)
    monkeypatch.setattr(which, "MOST_LEVELS", 1)
    killed = tmp_path / "killed"
    with Client(cluster) as client:
        client.register_plugin(KilledOnce(killed), name="killed-once")
        found = run(
            scene, tmp_path / "dask", engine="dask", engine_address=cluster.scheduler_address
        )
        client.unregister_worker_plugin("killed-once")
    assert killed.exists()
    assert (found.exit_code, found.written, found.missing) == (0, WINDOWS, ())
    assert found.totals["objects_written"] == 4 + BOXES
    folder = (tmp_path / "dask" / keys.top_boxes_prefix(found.job_id)).parent
    assert len(list(folder.glob("top-*"))) == BOXES
    with monkeypatch.context() as patch:
        patch.setattr("flows.top_boxes.missing_boxes", lambda spec: ())
        threads = run(scene, tmp_path / "threads")
    one, other = (tmp_path / name / keys.mosaic_key(found.job_id) for name in ("dask", "threads"))
    assert threads.totals["objects_written"] == 4
    assert one.read_bytes() == other.read_bytes()
