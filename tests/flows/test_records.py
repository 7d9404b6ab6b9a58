"""What a real server records: a refusal never makes a task run fail or run again."""

import json
from pathlib import Path

import pytest

from scenemosaic import job, keys
from scenemosaic.job import PlanOptions
from tests.flows.scenes import BLOCK, WINDOW
from tests.flows.serving import api, finish, finished_task_runs, flow_runs, fork_command

pytestmark = pytest.mark.slow
WINDOWS = 12
AT_ONCE = 2


def test_two_runs_of_one_job_at_once(scene: Path, tmp_path: Path, prefect_server: str) -> None:
    arguments = [
        "process", str(scene), "--to", str(tmp_path / "root"), "--window", str(WINDOW),
        "--block-size", str(BLOCK), "--windows-per-task", "1", "--json",
    ]  # fmt: skip
    extra = {"PREFECT_API_URL": prefect_server}
    running = [fork_command(arguments, tmp_path, extra) for _ in range(AT_ONCE)]
    answers = [finish(process) for process in running]
    assert [answer.code for answer in answers] == [0] * AT_ONCE, [one.err for one in answers]
    values = [answer.value() for answer in answers]
    assert sum(value["written"] for value in values) == WINDOWS
    assert all(value["written"] + value["already_present"] == WINDOWS for value in values)

    flows = flow_runs(prefect_server, tmp_path / "root")
    assert {flow["state_type"] for flow in flows} == {"COMPLETED"}
    assert {flow["state_name"] for flow in flows} <= {"Mosaicked", "AlreadyMosaicked"}
    assert [flow["run_count"] for flow in flows] == [1] * AT_ONCE
    assert [flow["tags"] for flow in flows] == [["scenemosaic"]] * AT_ONCE
    # Each window was committed by a task run of its own, and somebody assembled.
    runs = finished_task_runs(prefect_server, flows, WINDOWS + 1)
    assert {run["state_type"] for run in runs} == {"COMPLETED"}
    assert {run["run_count"] for run in runs} == {1}
    assert {tag for run in runs for tag in run["tags"]} == set(), "each would ask for a slot"


def test_refusals_alone_are_completed_task_runs(
    scene: Path, tmp_path: Path, prefect_server: str
) -> None:
    """Every tile stands there without its row: each PUT is refused, each row is inserted."""
    root = tmp_path / "root"
    spec = job.plan_job([str(scene)], str(root), None, PlanOptions(WINDOW, BLOCK))
    elsewhere = f"sqlite:///{tmp_path / 'other.db'}"
    other = job.JobSpec(spec.plan, spec.locations, spec.root, elsewhere)
    job.prepare(other)
    job.commit_windows(other, range(WINDOWS), job.Run("dead", "dead"))
    tiles = {path: path.stat().st_mtime_ns for path in root.glob("tiles/*/*.tif")}

    arguments = [
        "process", str(scene), "--to", str(root), "--window", str(WINDOW),
        "--block-size", str(BLOCK), "--windows-per-task", "3", "--json",
    ]  # fmt: skip
    extra = {"PREFECT_API_URL": prefect_server}
    answer = finish(fork_command(arguments, tmp_path, extra))
    value = answer.value()
    assert (answer.code, value["written"], value["already_present"]) == (0, 0, WINDOWS)
    assert value["mosaic"]["outcome"] == "written"
    assert {path: path.stat().st_mtime_ns for path in tiles} == tiles
    assert (root / keys.mosaic_key(spec.plan.job_id)).is_file()

    flows = flow_runs(prefect_server, root)
    runs = finished_task_runs(prefect_server, flows, WINDOWS // 3 + 1)
    assert len(runs) == WINDOWS // 3 + 1
    assert {(run["state_type"], run["run_count"]) for run in runs} == {("COMPLETED", 1)}
    # Every refusal is a line of the run's log, with job ID and key.
    of_run = {"logs": {"flow_run_id": {"any_": [flows[0]["id"]]}}, "limit": 200}
    logs = [line["message"] for line in api(prefect_server, "logs/filter", of_run)]
    refusals = {key for key in tile_keys(spec) if any(key in line for line in logs)}
    assert refusals == tile_keys(spec)


def tile_keys(spec: job.JobSpec) -> set[str]:
    windows = spec.plan.recipe.tiling().windows()
    return {keys.tile_key(spec.plan.job_id, window.name) for window in windows}


def test_nothing_secret_is_recorded(scene: Path, tmp_path: Path, prefect_server: str) -> None:
    manifest = f"sqlite:///{tmp_path / 'm.db'}?timeout=60"
    arguments = ["process", str(scene), "--to", str(tmp_path / "root"), "--manifest", manifest]
    answer = finish(fork_command(arguments, tmp_path, {"PREFECT_API_URL": prefect_server}))
    assert answer.code == 0, answer.err
    (flow,) = flow_runs(prefect_server, tmp_path / "root")
    assert flow["parameters"]["manifest"] == manifest.partition("?")[0]
    assert "timeout=60" not in json.dumps(flow)
