"""The same flow on a Dask cluster: the same job, the same pixels, and workers that die."""

from pathlib import Path
from typing import Any

import cloudpickle
import dask
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import State

from blocks.mosaic_recipe import RecipeFields
from flows.engines.engine import EngineName
from flows.process import process_scene
from flows.reports.scene import ProcessReport
from scenemosaic import job, keys
from tests.flows.scenes import BLOCK, WINDOW
from tests.recovery.gate import until

pytestmark = [pytest.mark.usefixtures("api"), pytest.mark.slow]
RECIPE = RecipeFields(window=WINDOW, block_size=BLOCK)
WINDOWS = 12


def run(
    scene: Path, root: Path, engine: EngineName, address: str | None = None, per_task: int = 2
) -> "State[ProcessReport]":
    return process_scene(
        [str(scene)],
        str(root),
        recipe=RECIPE,
        windows_per_task=per_task,
        engine=engine,
        engine_address=address,
        return_state=True,
    )


def report_of(state: "State[ProcessReport]") -> ProcessReport:
    value = state.result(raise_on_failure=False)
    assert isinstance(value, ProcessReport)
    return value


def task_run_states(state: "State[Any]") -> list[str | None]:
    given = state.state_details.flow_run_id
    assert given is not None
    only = FlowRunFilter(id=FlowRunFilterId(any_=[given]))
    with get_client(sync_client=True) as client:
        runs = client.read_task_runs(flow_run_filter=only)
    return [one.state_name for one in runs if one.name.startswith("commit-windows")]


def test_the_same_job_and_pixels_as_on_threads(
    scene: Path, tmp_path: Path, cluster: Any, sent: list[bytes]
) -> None:
    threads = report_of(run(scene, tmp_path / "threads", "threads"))
    assert not sent
    state = run(scene, tmp_path / "dask", "dask", cluster.scheduler_address)
    dask = report_of(state)
    assert dask.job_id == threads.job_id
    assert (dask.written, dask.already_present, dask.missing) == (WINDOWS, 0, ())
    assert sorted(dask.wrote) == sorted(threads.wrote)
    assert dict(dask.totals) == dict(threads.totals)
    one, other = (tmp_path / name / keys.mosaic_key(dask.job_id) for name in ("threads", "dask"))
    assert one.read_bytes() == other.read_bytes()

    spec = job.plan_job([str(scene)], str(tmp_path / "dask"), None, RECIPE.options())
    assert len(sent) == WINDOWS // 2
    for batch in sent:
        # Nearly all of it is Prefect's own context: its settings, the flow run, the task.
        assert len(batch) < 16_000 + len(cloudpickle.dumps(spec.plan))
    until("six task runs", lambda: task_run_states(state) == ["Completed"] * 6)


def test_a_cluster_that_went_away_since_it_was_looked_for_is_named(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.scenes.preparing.check_answers", lambda engine: None)
    with dask.config.set({"distributed.comm.timeouts.connect": "200ms"}):
        state = run(scene, tmp_path / "root", "dask", "tcp://127.0.0.1:9")
    assert state.name == "StoreFault"
    assert "the dask cluster at tcp://127.0.0.1:9 does not answer" in str(state.message)
