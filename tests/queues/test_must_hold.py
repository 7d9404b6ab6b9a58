"""Messages, a fifth of them twice, and three consumers that are killed at random.

200 of them, and 1,000 in full (:mod:`tests.lengths`).
"""

import random
from pathlib import Path

import pytest

from tests import servers
from tests.flows.scenes import make_scene
from tests.forked import Fork
from tests.lengths import length
from tests.queues.aws import created, make_queues
from tests.queues.fleet import Fleet, start_module
from tests.queues.landing import check_written_once

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
DISTINCT, BAD, TWICE = length(160, 800), length(8, 20), length(40, 200)
CONSUMERS = 3
KILL_BELOW = tuple(length(below, 5 * below) for below in (190, 160, 130, 100, 70, 40))
HIDDEN_S = 5
# No good message is in so many hands, however many of them die.
MOST = len(KILL_BELOW) + 2
SEED = 20240501


def messages(bucket: str, chance: random.Random) -> tuple[list[str], list[str]]:
    """All that is sent, in some order, and what of it is bad."""
    good = [created(bucket, f"in/{number:04}.tif") for number in range(DISTINCT - BAD)]
    bad = [created(bucket, f"in/bad-{number}.tif") for number in range(BAD // 2)]
    bad += [f"no notification {number}" for number in range(BAD - len(bad))]
    every = [*good, *bad, *chance.sample(good, TWICE)]
    chance.shuffle(every)
    return every, bad


def test_every_job_once_and_only_what_is_bad_is_buried(ministack: str, tmp_path: Path) -> None:
    s3, bucket = servers.aws_client("s3", ministack), servers.make_bucket(ministack)
    out, table = servers.make_bucket(ministack, versioned=True), servers.fresh_table_name()
    scene = make_scene(tmp_path / "scene.tif", 64, 64).read_bytes()
    for number in range(DISTINCT - BAD):
        s3.put_object(Bucket=bucket, Key=f"in/{number:04}.tif", Body=scene)
    for number in range(BAD // 2):
        s3.put_object(Bucket=bucket, Key=f"in/bad-{number}.tif", Body=scene[:500])
    every, bad = messages(bucket, random.Random(SEED))
    assert len(every) == DISTINCT + TWICE
    queues = make_queues(ministack, MOST)
    queues.send(every)

    def start(name: str) -> Fork:
        arguments = [queues.url, f"s3://{out}/root", f"dynamodb://{table}", name, str(HIDDEN_S)]
        env = {"AWS_ENDPOINT_URL": ministack}
        return start_module("tests.queues.run_consumer", arguments, env, tmp_path / f"{name}.log")

    fleet = Fleet(queues, start, CONSUMERS, SEED)
    fleet.work(KILL_BELOW)
    assert fleet.killed == len(KILL_BELOW)
    assert set(fleet.codes) == {0}, [path.read_text()[-2000:] for path in tmp_path.glob("*.log")]
    assert queues.left() == 0
    assert sorted(queues.dead()) == sorted(bad)
    check_written_once(ministack, out, table, DISTINCT - BAD)
