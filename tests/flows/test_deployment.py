"""prefect.yaml says what the table of deployments says, lands as it is, and a worker runs it."""

import json
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.server.deployment_table import NAME, TABLE, TAGS, Entry
from scenemosaic import keys
from tests import servers
from tests.flows.scenes import BLOCK, WINDOW
from tests.flows.serving import COMMAND_S, REPOSITORY, api, environment, flow_runs

POOL = "scenemosaic"


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


def listed(entry: Entry) -> dict[str, Any]:
    """What prefect.yaml has to say of an entry."""
    limit = {"limit": entry.limit, "collision_strategy": entry.collision}
    value: dict[str, Any] = {
        "name": NAME,
        "description": entry.description,
        "entrypoint": entry.entrypoint,
        "tags": list(TAGS),
        "concurrency_limit": limit,
    }
    if entry.parameters:
        value["parameters"] = dict(entry.parameters)
    schedules = []
    for one in entry.timetables:
        when: dict[str, Any] = (
            {"cron": one.cron, "timezone": one.time_zone}
            if one.every is None
            else {"interval": one.every / timedelta(seconds=1)}
        )
        schedules.append(when | {"slug": one.slug, "active": False})
    return value | ({"schedules": schedules} if schedules else {})


def test_yaml_and_table_are_one() -> None:
    found = yaml.safe_load((REPOSITORY / "prefect.yaml").read_text())["deployments"]
    pools = [one.pop("work_pool") for one in found]
    assert found == [listed(entry) for entry in TABLE]
    assert {pool["name"] for pool in pools} == {POOL}
    assert all("PREFECT_FLOWS_HEARTBEAT_FREQUENCY" in str(pool) for pool in pools)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_deploy_all_and_run_one(scene: Path, tmp_path: Path, served_server: str) -> None:
    prefect(served_server, tmp_path, "work-pool", "create", POOL, "--type", "process")
    prefect(served_server, REPOSITORY, "deploy", "--all")
    found = {one["entrypoint"]: one for one in api(served_server, "deployments/filter", {})}
    for entry in TABLE:
        one = found[entry.entrypoint]
        assert (one["work_pool_name"], one["tags"]) == (POOL, list(TAGS))
        assert one["concurrency_options"]["collision_strategy"] == entry.collision
        slugs = {timetable.slug: False for timetable in entry.timetables}
        assert {s["slug"]: s["active"] for s in one["schedules"]} == slugs
        parameters = one["parameter_openapi_schema"]["properties"]
        assert all(field["description"] for field in parameters.values())

    given = {
        "sources": [str(scene)],
        "to": str(tmp_path / "root"),
        "recipe": {"window": WINDOW, "block_size": BLOCK},
    }
    prefect(
        served_server, tmp_path,
        *("deployment", "run", "process-scene/default", "--params", json.dumps(given)),
    )  # fmt: skip
    prefect(served_server, tmp_path, "worker", "start", "--pool", POOL, "--run-once")
    (run,) = flow_runs(served_server, tmp_path / "root")
    assert (run["state_name"], run["state_type"]) == ("Mosaicked", "COMPLETED")
    assert run["state"]["message"] == "12 windows: 12 written, 0 already there"
    assert run["name"] == f"scene.tif → {tmp_path.name}/root"
    (mosaic,) = (tmp_path / "root").glob(keys.mosaic_key("*"))
    assert mosaic.is_file()
