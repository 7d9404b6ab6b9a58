"""``scenemosaic serve`` on a real server: what is served runs, twice and without a second copy."""

import time
import urllib.error
from pathlib import Path
from typing import Any

import pytest

from flows.server import ending
from flows.server.deployment_table import STORE, TABLE
from scenemosaic import keys
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.flows.serving import (
    COMMAND_S,
    api,
    flow_runs,
    objects,
    request,
    run_command,
    served,
)
from tests.recovery.gate import until

pytestmark = pytest.mark.slow
MINE = {"queue": "https://sqs.eu-north-1.amazonaws.com/1/mine", "store": "mine"}


def deployments(url: str) -> dict[str, dict[str, Any]]:
    """By the flow's own name in their entrypoints, served or deployed."""
    found = api(url, "deployments/filter", {})
    return {one["entrypoint"].replace(":", ".").rpartition(".")[2]: one for one in found}


def start(url: str, flow: str, parameters: dict[str, Any]) -> str:
    made = request(
        url, f"deployments/{deployments(url)[flow]['id']}/create_flow_run",
        {"parameters": parameters, "state": {"type": "SCHEDULED"}},
    )  # fmt: skip
    return str(made["id"])


def ended(url: str, run_id: str) -> dict[str, Any]:
    """The run once it has come to its end."""
    give_up = time.monotonic() + COMMAND_S
    while True:
        (run,) = api(url, "flow_runs/filter", {"flow_runs": {"id": {"any_": [run_id]}}})
        if run["state_type"] in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"):
            return run
        assert time.monotonic() < give_up, run
        time.sleep(0.5)


def artifacts(url: str, keys_: list[str]) -> dict[str, Any]:
    found = api(url, "artifacts/filter", {"artifacts": {"key": {"any_": keys_}}})
    return {one["key"]: one for one in found}


@pytest.mark.timeout(600)
def test_a_backfill_twice(tmp_path: Path, served_server: str) -> None:
    root, url = tmp_path / "root", served_server
    scenes = [str(make_scene(tmp_path / f"{seed}.tif", seed=seed)) for seed in (11, 12)]
    given = {
        "scenes": {"scenes": scenes},
        "to": str(root),
        "recipe": {"window": WINDOW, "block_size": BLOCK},
    }
    with served(url, tmp_path) as said:
        assert said["blocks"] == ["mosaic-recipe", "scene-store", "tile-manifest"]
        assert set(said["automations"].values()) == {"made"}
        assert len(deployments(url)) >= len(TABLE)
        first = ended(url, start(url, "backfill_scenes", given))
        assert (first["state_name"], first["state_type"]) == ("Backfilled", "COMPLETED")
        before = objects(root)
        assert len(list(root.glob(keys.mosaic_key("*")))) == len(scenes)
        again = ended(url, start(url, "backfill_scenes", given))
        assert (again["state_name"], again["state_type"]) == ("AlreadyMosaicked", "COMPLETED")
        refused = ended(url, start(url, "backfill_scenes", given | {"recipe_block": "too"}))
        assert (refused["state_name"], refused["state_type"]) == ("BadInput", "FAILED")
        for wrong, named in (
            ({"recipe": {"window": 3}}, "recipe.window"),
            ({"nonsense": 99}, "nonsense"),
            ({"store": "too"}, "'to'"),
        ):
            with pytest.raises(urllib.error.HTTPError) as caught:
                start(url, "backfill_scenes", given | wrong)
            assert caught.value.code == 409
            assert named in caught.value.read().decode()
        _turn_on(url)
        until("runs of what was turned on", lambda: any(_scheduled(url, "watch_ledger")))
        assert _scheduled(url, "watch_ledger") == [{"store": STORE}], "Prefect emptied its own"
        _set(url, "ingest_events", MINE)

    assert objects(root) == before, "the second one wrote nothing"
    runs = [run for run in flow_runs(url, root) if "sources" in run["parameters"]]
    assert {run["state_name"] for run in runs} == {"Mosaicked"}
    assert len(runs) == len(scenes), "the second one needed no run of a scene"
    assert {run["name"] for run in runs} == {f"{s}.tif → {tmp_path.name}/root" for s in (11, 12)}
    job_id = next(root.glob("jobs/*")).name
    (mine,) = [run for run in runs if run["idempotency_key"].startswith(job_id)]
    assert mine["idempotency_key"].endswith("-missing-1")
    kinds = {"outcomes": "table", "gap-map": "markdown", "preview": "image"}
    found = artifacts(url, [f"{kind}-{job_id}" for kind in kinds])
    assert {key.removesuffix(f"-{job_id}"): one["type"] for key, one in found.items()} == kinds
    assert found[f"preview-{job_id}"]["data"].startswith("data:image/png;base64,")

    with served(url, tmp_path) as said:
        assert set(said["automations"].values()) == {"as it should be"}
        (kept,) = deployments(url)["watch_ledger"]["schedules"]
        assert kept["active"], "what a person turned on stays on"
        assert deployments(url)["ingest_events"]["parameters"] == MINE, "and what they set"
        left = _in_hand(url, tmp_path)
    run = ended(url, left)
    assert (run["state_name"], run["state"]["message"]) == ("Cancelled", ending.WHY)


def _in_hand(url: str, folder: Path) -> str:
    """A run with a tile, and minutes of work before it."""
    scene = make_scene(folder / "large.tif", 4000, 4000, seed=13)
    slow = {"window": 512, "block_size": 512, "compress": "zstd", "level": 22}
    given = {"sources": [str(scene)], "to": str(folder / "left"), "recipe": slow}
    run_id = start(url, "process_scene", given | {"workers": 1, "windows_per_task": 1})
    until("a tile", lambda: any(folder.glob("left/tiles/*/*.tif")), passes=True)
    return run_id


def _turn_on(url: str) -> None:
    watch = deployments(url)["watch_ledger"]
    (schedule,) = watch["schedules"]
    assert not schedule["active"]
    request(
        url, f"deployments/{watch['id']}/schedules/{schedule['id']}", {"active": True}, "PATCH"
    )  # fmt: skip


def _scheduled(url: str, flow: str) -> list[dict[str, Any]]:
    """The different parameters of a deployment's runs that its schedule made."""
    of_it = {"deployments": {"id": {"any_": [deployments(url)[flow]["id"]]}}}
    runs = api(url, "flow_runs/filter", of_it)
    found = [run["parameters"] for run in runs if run["auto_scheduled"]]
    return [one for number, one in enumerate(found) if one not in found[:number]]


def _set(url: str, flow: str, parameters: dict[str, str]) -> None:
    request(url, f"deployments/{deployments(url)[flow]['id']}", {"parameters": parameters}, "PATCH")


def test_automations_are_made_once(tmp_path: Path, served_server: str) -> None:
    for _ in range(2):
        answer = run_command(
            ["automations", "--json"], tmp_path, {"PREFECT_API_URL": served_server}
        )
        assert answer.code == 0, answer.err
    found = api(served_server, "automations/filter", {})
    ours = [one for one in found if one["name"].startswith("scenemosaic: ")]
    assert len(ours) == len(answer.value()["automations"]) == 4
    silences = [one["trigger"] for one in ours if one["trigger"]["posture"] == "Proactive"]
    states_have_our_own_names = [["prefect.flow-run.*"]] * 2
    assert [one["expect"] for one in silences] == states_have_our_own_names
    wrong = run_command(
        ["automations", "--notify", "slack-webhook/none"],
        tmp_path,
        {"PREFECT_API_URL": served_server},
    )
    assert wrong.code == 2
    assert "slack-webhook/none" in wrong.err
