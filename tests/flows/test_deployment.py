"""prefect.yaml lands as it is, and a worker runs what it deployed."""

import json
import subprocess
from pathlib import Path

import pytest

from scenemosaic import keys
from tests import servers
from tests.flows.scenes import BLOCK, WINDOW
from tests.flows.serving import COMMAND_S, REPOSITORY, api, environment, flow_runs

pytestmark = pytest.mark.slow
POOL = "scenemosaic"
NAME = "process-scene/default"


def prefect(url: str, folder: Path, *arguments: str) -> str:
    extra = {"PREFECT_API_URL": url, "NO_COLOR": "1", "COLUMNS": "200"}
    done = subprocess.run(
        [servers.script("prefect"), "--no-prompt", *arguments],
        cwd=folder,
        env=environment(extra),
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_deploy_all_and_run_one(scene: Path, tmp_path: Path, prefect_server: str) -> None:
    prefect(prefect_server, tmp_path, "work-pool", "create", POOL, "--type", "process")
    prefect(prefect_server, REPOSITORY, "deploy", "--all")
    (found,) = api(prefect_server, "deployments/filter", {})
    assert (found["entrypoint"], found["work_pool_name"]) == (
        "flows/process.py:process_scene",
        POOL,
    )
    parameters = found["parameter_openapi_schema"]["properties"]
    assert all(field["description"] for field in parameters.values())

    given = {
        "sources": [str(scene)],
        "to": str(tmp_path / "root"),
        "options": {"window": WINDOW, "block_size": BLOCK},
    }
    prefect(prefect_server, tmp_path, "deployment", "run", NAME, "--params", json.dumps(given))
    prefect(prefect_server, tmp_path, "worker", "start", "--pool", POOL, "--run-once")
    (run,) = flow_runs(prefect_server, tmp_path / "root")
    assert (run["state_name"], run["state_type"]) == ("Mosaicked", "COMPLETED")
    assert run["state"]["message"] == "12 windows: 12 written, 0 already there"
    (mosaic,) = (tmp_path / "root").glob(keys.mosaic_key("*"))
    assert mosaic.is_file()
