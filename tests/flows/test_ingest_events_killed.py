"""The flow in three processes on a real server, killed and started again as messages are left."""

import random
from pathlib import Path

import pytest

from tests import servers
from tests.flows.scenes import make_scene
from tests.flows.serving import api
from tests.forked import Fork
from tests.queues.aws import created, make_queues
from tests.queues.fleet import Fleet, start_module
from tests.queues.landing import check_written_once

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
SCENES, BAD, TWICE = 38, 2, 10
CONSUMERS = 3
KILL_BELOW = (40, 25)
HIDDEN_S = 8
MOST = len(KILL_BELOW) + 2
SEED = 7


def test_every_job_once_and_no_run_fails_for_it(
    ministack: str, prefect_server: str, tmp_path: Path
) -> None:
    s3, bucket = servers.aws_client("s3", ministack), servers.make_bucket(ministack)
    out, table = servers.make_bucket(ministack, versioned=True), servers.fresh_table_name()
    scene = make_scene(tmp_path / "scene.tif", 64, 64).read_bytes()
    good = [f"in/{number}.tif" for number in range(SCENES)]
    for key in good:
        s3.put_object(Bucket=bucket, Key=key, Body=scene)
    s3.put_object(Bucket=bucket, Key="in/bad.tif", Body=scene[:500])
    bad = [created(bucket, "in/bad.tif"), "no notification"]
    assert len(bad) == BAD
    chance, sent = random.Random(SEED), [created(bucket, key) for key in good]
    every = [*sent, *bad, *chance.sample(sent, TWICE)]
    chance.shuffle(every)
    queues = make_queues(ministack, MOST)
    queues.send(every)

    def start(name: str) -> Fork:
        arguments = [queues.url, f"s3://{out}/root", f"dynamodb://{table}", str(HIDDEN_S)]
        env = {"AWS_ENDPOINT_URL": ministack, "PREFECT_API_URL": prefect_server}
        module = "tests.flows.run_ingest_events"
        return start_module(module, arguments, env, tmp_path / f"{name}.log")

    fleet = Fleet(queues, start, CONSUMERS, SEED)
    fleet.work(KILL_BELOW)
    assert fleet.killed == len(KILL_BELOW)
    assert set(fleet.codes) == {0}, [path.read_text()[-2000:] for path in tmp_path.glob("*.log")]
    assert queues.left() == 0
    assert sorted(queues.dead()) == sorted(bad)
    check_written_once(ministack, out, table, SCENES)

    of_flow = {"flows": {"name": {"any_": ["ingest-events"]}}}
    runs = [
        run
        for run in api(prefect_server, "flow_runs/filter", of_flow)
        if run["parameters"]["queue"] == queues.url
    ]
    ended = [run for run in runs if run["state_type"] == "COMPLETED"]
    assert len(ended) == len(fleet.codes)
    assert {run["state_name"] for run in ended} <= {"Ingested", "NothingNew"}
    assert len(runs) - len(ended) <= fleet.killed
