"""The same flow on a Dask cluster: the same job, the same pixels, and workers that die."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import pytest
from distributed import Client
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import State

from blocks.mosaic_recipe import RecipeFields
from flows.engines import EngineName
from flows.process import process_scene
from flows.report import ProcessReport
from scenemosaic import job, keys
from scenemosaic.errors import ForeignObject
from tests.engines.armed import Armed
from tests.engines.marked import MARK, marked
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.flows.serving import environment
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


def test_a_killed_worker_costs_the_window_that_it_had_in_hand(
    scene: Path, tmp_path: Path, cluster: Any
) -> None:
    notes = tmp_path / "notes"
    with Client(cluster) as client:
        client.register_plugin(Armed(notes), name="armed")
        state = run(scene, tmp_path / "root", "dask", cluster.scheduler_address, per_task=6)
        client.unregister_worker_plugin("armed")
    report = report_of(state)
    assert notes.with_suffix(".killed").exists()
    assert state.name == "Mosaicked"
    assert (report.written, report.already_present, report.missing) == (WINDOWS, 0, ())
    computed = notes.read_text().splitlines()
    assert len(computed) == len(set(computed)) == WINDOWS


def test_a_conflict_ends_the_run_and_is_not_tried_again(
    scene: Path, tmp_path: Path, cluster: Any
) -> None:
    spec = job.plan_job([str(scene)], str(tmp_path / "root"), None, RECIPE.options())
    foreign = tmp_path / "root" / keys.tile_key(spec.plan.job_id, "0000_0001")
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"not ours")
    state = run(scene, tmp_path / "root", "dask", cluster.scheduler_address, per_task=1)
    report = report_of(state)
    assert isinstance(report.error, ForeignObject)
    assert state.name == "ForeignObject"
    assert "0000_0001" in report.missing
    assert foreign.read_bytes() == b"not ours"


def test_a_cluster_that_does_not_answer_is_named(scene: Path, tmp_path: Path) -> None:
    with dask.config.set({"distributed.comm.timeouts.connect": "200ms"}):
        state = run(scene, tmp_path / "root", "dask", "tcp://127.0.0.1:9")
    assert state.name == "StoreFault"
    assert "the dask cluster at tcp://127.0.0.1:9 does not answer" in str(state.message)


@pytest.mark.parametrize(
    ("send", "number"), [(os.kill, signal.SIGTERM), (os.killpg, signal.SIGINT)]
)
def test_a_command_that_is_ended_leaves_no_worker(
    tmp_path: Path, api: str, send: Callable[[int, int], None], number: signal.Signals
) -> None:
    scene = make_scene(tmp_path / "scene.tif", 2000, 2000)
    root = tmp_path / "root"
    given = ["process", str(scene), "--to", str(root), "--engine", "dask"]
    sizes = ["--window", str(BLOCK), "--block-size", str(BLOCK)]
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", *given, *sizes],
        env=environment({"PREFECT_API_URL": api, MARK: str(tmp_path)}),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until("a tile", lambda: any(root.glob("tiles/*/*.tif")))
        assert len(marked(tmp_path)) > 2
        send(process.pid, number)
        _, err = process.communicate(timeout=200)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 128 + number, err
    until("no process left", lambda: not marked(tmp_path), give_up_s=60)
    assert "interrupted; the same command goes on from there" in err
