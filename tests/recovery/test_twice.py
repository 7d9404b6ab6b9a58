"""The same work asked for twice at once, by two runs or by two flows: every job once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio

from scenemosaic import keys
from tests import servers
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.flows.serving import api
from tests.queues.landing import check_written_once
from tests.recovery.conftest import Runner
from tests.recovery.gate import until
from tests.recovery.place import WINDOWS, WORKERS, Place, check_done
from tests.recovery.runs import PROCESS, ended, read, start, state_of, written

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
SCENES = 2


def test_the_same_deployment(place: Place, prefect_server: str, runner: Runner) -> None:
    assert runner.pid
    place.gate.let(0)
    both = [start(prefect_server, PROCESS, place.given()) for _ in range(2)]
    # Every thread of both stands before the same first windows.
    until("both runs", lambda: place.tile_puts().total() >= len(both) * WORKERS)
    place.gate.open()
    runs = {run_id: ended(prefect_server, run_id) for run_id in both}
    assert {run["state_type"] for run in runs.values()} == {"COMPLETED"}
    assert {run["state_name"] for run in runs.values()} <= {"Mosaicked", "AlreadyMosaicked"}
    wrote = {run_id: written(run) for run_id, run in runs.items()}
    assert sum(wrote.values()) == WINDOWS, "the others said already there"
    check_done(place, wrote)


def test_a_backfill_beside_live_ingest(
    place: Place, prefect_server: str, runner: Runner, tmp_path: Path
) -> None:
    assert runner.pid
    s3 = servers.aws_client("s3", place.endpoint)
    scenes = [make_scene(tmp_path / f"{seed}.tif", 100, 80, seed) for seed in range(SCENES)]
    for scene in scenes:
        s3.put_object(Bucket=place.bucket, Key=f"in/{scene.name}", Body=scene.read_bytes())
    place.gate.let(0)
    given = {
        "scenes": {"prefix": f"s3://{place.bucket}/in/"},
        "to": place.root,
        "manifest": place.manifest,
        "recipe": {"window": WINDOW, "block_size": BLOCK},
    }
    named = given | {"name": "nightly", "store": None}
    backfill = start(prefect_server, "backfill-scenes/default", given)
    ingest = start(prefect_server, "ingest-new-scenes/default", named)

    def both_go_on() -> bool:
        states = {read(prefect_server, run_id)["state_type"] for run_id in (backfill, ingest)}
        return states == {"RUNNING"} and len(process_runs(place, prefect_server)) == SCENES

    until("both flows, and a run of each scene", both_go_on)
    place.gate.open()
    assert state_of(ended(prefect_server, backfill)) == ("Backfilled", "COMPLETED")
    assert state_of(ended(prefect_server, ingest)) == ("Ingested", "COMPLETED")
    runs = process_runs(place, prefect_server)
    assert [state_of(run) for run in runs] == [("Mosaicked", "COMPLETED")] * SCENES
    assert [run["run_count"] for run in runs] == [1] * SCENES
    check_written_once(place.endpoint, place.bucket, place.table, SCENES)
    assert mosaics(place) == sorted(pixels(scene.read_bytes()) for scene in scenes)


def process_runs(place: Place, url: str) -> list[dict[str, Any]]:
    of_flow = {"flows": {"name": {"any_": ["process-scene"]}}}
    found = api(url, "flow_runs/filter", of_flow)
    return [run for run in found if run["parameters"].get("to") == place.root]


def mosaics(place: Place) -> list[bytes]:
    s3 = servers.aws_client("s3", place.endpoint)
    found = [key for key in place.objects() if key.endswith("/" + keys.MOSAIC_FILE)]
    bodies = [s3.get_object(Bucket=place.bucket, Key=f"root/{key}")["Body"] for key in found]
    return sorted(pixels(body.read()) for body in bodies)


def pixels(data: bytes) -> bytes:
    with rasterio.MemoryFile(data) as held, held.open() as raster:
        return np.ascontiguousarray(raster.read()).tobytes()
