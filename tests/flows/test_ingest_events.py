"""From S3's own notifications to mosaics, inside a test API: acknowledged, left, buried."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect.client.schemas.objects import State

from blocks.mosaic_recipe import RecipeFields
from flows import ingest_events as module
from flows.ingest_events import ingest_events
from flows.reports.events import EventsReport, EventsTally
from scenemosaic import job, keys
from scenemosaic.errors import PermanentStoreError, TransientStoreError
from scenemosaic.queues import consuming
from scenemosaic.queues.sqs import SqsQueue
from scenemosaic.queues.verdict import Delivery, Fate, SceneFate
from tests import servers
from tests.flows.scenes import BLOCK, make_scene
from tests.jobs.places import Place
from tests.queues.aws import Queues, created, make_queues

pytestmark = pytest.mark.usefixtures("harness", "quick_end")
RECIPE = RecipeFields(window=BLOCK * 2, block_size=BLOCK)
# On a busy machine a message may come again while it is in hand: then counts are not exact.
LONG_S, SHORT_S = 600, 5
MOST = 3


@pytest.fixture
def quick_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was left comes again within a poll; without such a message a poll need not be long."""

    def listening(for_s: float, at_once: int, stop: bool) -> consuming.Listening:
        return consuming.Listening(for_s, at_once, stop, poll_s=poll_s[0])

    poll_s = [1]
    monkeypatch.setattr(module, "Listening", listening)
    real: Callable[..., SqsQueue] = SqsQueue

    def opened(url: str, hidden_s: int) -> SqsQueue:
        poll_s[0] = hidden_s + 3 if hidden_s == SHORT_S else 1
        return real(url, hidden_s)

    monkeypatch.setattr(module, "SqsQueue", opened)


@pytest.fixture
def queues(ministack: str) -> Queues:
    os.environ["AWS_ENDPOINT_URL"] = ministack
    return make_queues(ministack, MOST)


@pytest.fixture
def bucket(ministack: str) -> str:
    return servers.make_bucket(ministack)


@pytest.fixture
def place(ministack: str) -> Place:
    bucket = servers.make_bucket(ministack, versioned=True)
    env = {"AWS_ENDPOINT_URL": ministack}
    return Place(f"s3://{bucket}/out", f"dynamodb://{servers.fresh_table_name()}", env)


def notify(queues: Queues, bucket: str) -> None:
    """Let S3 tell the queue of every new object."""
    configuration = {"QueueArn": queues.arn, "Events": ["s3:ObjectCreated:*"]}
    servers.aws_client("s3", queues.endpoint).put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"QueueConfigurations": [configuration]}
    )


def put(endpoint: str, bucket: str, key: str, data: bytes) -> None:
    servers.aws_client("s3", endpoint).put_object(Bucket=bucket, Key=key, Body=data)


def scene(tmp_path: Path, seed: int = 1) -> bytes:
    return make_scene(tmp_path / "one.tif", 100, 80, seed).read_bytes()


def listen(queues: Queues, place: Place, **more: Any) -> "State[EventsReport]":
    given = {"for_s": 600, "hidden_s": LONG_S, "stop_when_empty": True} | more
    return ingest_events(
        queues.url, place.root, place.manifest, recipe=RECIPE, return_state=True, **given
    )


def report_of(state: "State[EventsReport]") -> EventsReport:
    value = state.result(raise_on_failure=False)
    assert isinstance(value, EventsReport), value
    return value


def test_from_s3_s_notification_to_the_mosaic(
    queues: Queues, bucket: str, place: Place, tmp_path: Path
) -> None:
    notify(queues, bucket)
    put(queues.endpoint, bucket, "in/a scene+1.tif", scene(tmp_path))
    put(queues.endpoint, bucket, "in/notes.txt", b"x")
    put(queues.endpoint, bucket, "in/bad.tif", b"no raster")
    state = listen(queues, place, hidden_s=SHORT_S)
    report = report_of(state)
    assert (state.name, state.is_completed()) == ("Ingested", True)
    # S3 tests the queue as it is told of it.
    assert report.acknowledged >= 3
    assert report.received - report.acknowledged == MOST
    assert (report.bad, report.unfinished) == (1, 0)
    assert {row.scene for row in report.rows if row.fate is Fate.REFUSED} == {
        f"s3://{bucket}/in/bad.tif"
    }
    (done, *_) = [row for row in report.rows if row.fate is Fate.DONE]
    assert done.scene == f"s3://{bucket}/in/a scene+1.tif"
    assert queues.left() == 0
    (dead,) = queues.dead()
    assert json.loads(dead)["Records"][0]["s3"]["object"]["key"] == "in/bad.tif"
    versions = place.versions()
    assert str(keys.mosaic_key(str(done.job_id))) in versions
    assert {len(one) for one in versions.values()} == {1}


def test_a_duplicate_writes_nothing_and_a_replaced_scene_is_another_job(
    queues: Queues, bucket: str, place: Place, tmp_path: Path
) -> None:
    put(queues.endpoint, bucket, "a.tif", scene(tmp_path))
    queues.send([created(bucket, "a.tif")])
    assert report_of(listen(queues, place)).done == 1
    before = place.versions()
    queues.send([created(bucket, "a.tif")] * 2)
    state = listen(queues, place)
    assert (state.name, report_of(state).duplicates) == ("NothingNew", 2)
    assert place.versions() == before
    put(queues.endpoint, bucket, "a.tif", scene(tmp_path, seed=2))
    queues.send([created(bucket, "a.tif")])
    assert report_of(listen(queues, place)).done == 1
    assert queues.dead() == []


def test_a_conflict_is_acknowledged_and_never_buried(
    queues: Queues, bucket: str, place: Place, tmp_path: Path
) -> None:
    put(queues.endpoint, bucket, "a.tif", scene(tmp_path))
    spec = job.plan_job([f"s3://{bucket}/a.tif"], place.root, place.manifest, RECIPE.options())
    out = place.root.removeprefix("s3://").partition("/")[0]
    put(queues.endpoint, out, f"out/{keys.tile_key(spec.plan.job_id, '0000_0000')}", b"foreign")
    queues.send([created(bucket, "a.tif")])
    state = listen(queues, place)
    assert (state.name, state.is_completed()) == ("Ingested", True)
    assert [row.fate for row in report_of(state).rows] == [Fate.CONFLICT]
    assert (queues.left(), queues.dead()) == (0, [])


def test_a_fault_of_the_store_is_left_and_done_when_it_is_over(
    queues: Queues,
    bucket: str,
    place: Place,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real: Callable[..., Any] = job.publish_plan
    faults = [TransientStoreError("no answer")]

    def publish(*given: Any) -> Any:
        if faults:
            raise faults.pop()
        return real(*given)

    monkeypatch.setattr(job, "publish_plan", publish)
    put(queues.endpoint, bucket, "a.tif", scene(tmp_path))
    queues.send([created(bucket, "a.tif")])
    state = listen(queues, place, hidden_s=SHORT_S)
    report = report_of(state)
    assert (state.name, report.unfinished) == ("Ingested", 0)
    assert report.received >= 2
    assert report.fates[Fate.FAULT] == 1
    assert report.done >= 1
    assert (queues.left(), queues.dead()) == (0, [])


def test_a_queue_that_is_not_there_is_a_fault_of_the_run(place: Place, queues: Queues) -> None:
    state = ingest_events(
        f"{queues.url}-not", place.root, place.manifest, for_s=5, return_state=True
    )
    assert (state.name, state.is_failed()) == ("StoreFault", True)
    assert f"{queues.url}-not" in str(state.message)


def test_what_does_not_fit_is_refused_before_anything_is_received(queues: Queues) -> None:
    queues.send(["x"])
    for given in ({"queue": "scenes"}, {"hidden_s": 1}, {"for_s": 0}, {"to": None}):
        state = ingest_events(
            **({"queue": queues.url, "to": "/nowhere"} | given), return_state=True
        )
        assert (state.name, state.is_failed()) == ("BadInput", True)
    (message,) = SqsQueue(queues.url).receive(1, 0)
    assert message.deliveries == 1


def test_the_last_word_on_a_message_counts() -> None:
    tally = EventsTally()
    for count, name, fate, acknowledged in (
        (1, "a", Fate.FAULT, False),
        (2, "a", Fate.DONE, True),
        (1, "b", Fate.REFUSED, False),
        (1, "c", Fate.INCOMPLETE, False),
        (1, "d", Fate.PRESENT, True),
    ):
        tally.add(Delivery(name, count, (SceneFate(name, fate),), acknowledged))
    report = tally.report(None, 1.0)
    assert (report.received, report.acknowledged, report.done) == (5, 2, 1)
    assert (report.duplicates, report.bad, report.unfinished) == (1, 1, 1)
    assert (report.state, report.has_failed) == ("Incomplete", True)
    assert [row.scene for row in report.rows] == ["a", "a", "b", "c"]
    failed = tally.report(PermanentStoreError("no such queue"), 1.0)
    assert (failed.state, "no such queue" in failed.summary) == ("StoreFault", True)
