"""Boxes in a store: each is written once, and whatever becomes of it the mosaic is the same."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from scenemosaic import job, keys
from scenemosaic.errors import ForeignObject
from scenemosaic.job import JobSpec, PlanOptions, Run
from scenemosaic.mosaic.top_boxes import top_boxes
from scenemosaic.session import open_session
from scenemosaic.stores.port import CopyRun
from scenemosaic.top_boxes import committing
from scenemosaic.top_boxes.committing import BoxBatch, make_boxes, missing_boxes
from tests.jobs.conftest import write_scene
from tests.jobs.places import MakePlace, Place, client

RUN = Run("first", "first")
OPTIONS = PlanOptions(window=128, block_size=64)
BOXES = 6


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """500 x 700 pixels: 24 windows of 128."""
    return write_scene(tmp_path_factory.mktemp("scene") / "scene.tif", 500, 700)


@dataclass(frozen=True)
class Job:
    """A job whose windows are committed."""

    place: Place
    spec: JobSpec

    def boxes(self) -> dict[str, list[str]]:
        prefix = keys.top_boxes_prefix(self.spec.plan.job_id)
        return {k: v for k, v in self.place.versions().items() if k.startswith(prefix)}

    def digest(self) -> str:
        (digest,) = self.place.versions()[keys.mosaic_key(self.spec.plan.job_id)]
        return digest

    def path(self, key: str) -> Path:
        return Path(unquote(urlsplit(self.place.root).path)) / key


def committed(place: Place, scene: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    spec = job.plan_job([str(scene)], place.root, place.manifest, OPTIONS)
    job.prepare(spec)
    job.publish_plan(spec, RUN)
    job.commit_windows(spec, job.missing_windows(spec), RUN)
    return Job(place, spec)


@pytest.fixture
def one(make_place: MakePlace, scene: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    return committed(make_place(), scene, monkeypatch)


@pytest.fixture
def local(local_place: MakePlace, scene: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    return committed(local_place(), scene, monkeypatch)


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return {}


@pytest.fixture
def plain(
    request: pytest.FixtureRequest,
    found: dict[str, str],
    scene: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The mosaic's digest where no box ever stood, in such a store."""
    name = "make_place" if "make_place" in request.fixturenames else "local_place"
    place = request.getfixturevalue(name)()
    kind = urlsplit(place.root).scheme
    if kind not in found:
        made = committed(place, scene, monkeypatch)
        job.assemble(made.spec, RUN)
        assert made.boxes() == {}
        found[kind] = made.digest()
    return found[kind]


def outcomes(batch: BoxBatch) -> list[str]:
    return sorted(found.outcome for found in batch.outcomes)


def test_each_box_is_written_once_and_the_mosaic_copies_them(
    one: Job, plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes = missing_boxes(one.spec)
    assert boxes == top_boxes(one.spec.plan.recipe)
    assert len(boxes) == BOXES
    # One died after two of them; the next goes on, and meets somebody who was quicker.
    assert outcomes(make_boxes(one.spec, boxes[:2], RUN)) == ["written"] * 2
    assert missing_boxes(one.spec) == boxes[2:]
    rest = make_boxes(one.spec, boxes, Run("second", "second"))
    assert outcomes(rest) == ["already-present"] * 2 + ["written"] * (BOXES - 2)
    assert rest.trace.counters["written"] == BOXES - 2
    assert missing_boxes(one.spec) == ()
    store, real = open_session(one.spec).store, type(open_session(one.spec).store).compose
    copied: list[str] = []

    def compose(self: Any, key: str, segments: Any, *rest: Any) -> Any:
        copied.extend(s.key for s in segments if isinstance(s, CopyRun))
        return real(self, key, segments, *rest)

    monkeypatch.setattr(type(store), "compose", compose)
    assert job.assemble(one.spec, Run("third", "third")).outcome == "written"
    assert one.digest() == plain
    assert set(one.boxes()) < set(copied)
    assert all(len(found) == 1 for found in one.place.versions().values())
    assert one.place.uploads() == []


def test_two_at_once_write_a_box_once(one: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    (box, *_), real = missing_boxes(one.spec), committing.make_box

    def overtaken(*given: Any) -> Any:
        monkeypatch.setattr(committing, "make_box", real)
        assert outcomes(make_boxes(one.spec, [box], Run("other", "other"))) == ["written"]
        return real(*given)

    monkeypatch.setattr(committing, "make_box", overtaken)
    batch = make_boxes(one.spec, [box], RUN)
    assert outcomes(batch) == ["already-present"]
    assert batch.trace.counters["refused"] == 1
    assert [len(found) for found in one.boxes().values()] == [1]


def test_a_box_that_is_gone_or_not_ours_is_made_by_assembly(one: Job, plain: str) -> None:
    boxes = missing_boxes(one.spec)
    make_boxes(one.spec, boxes[:3], RUN)
    first, second, _ = sorted(one.boxes())
    if one.place.root.startswith("s3://"):
        parts = urlsplit(one.place.root)
        s3, prefix = client(one.place, "s3"), parts.path.strip("/")
        s3.put_object(Bucket=parts.netloc, Key=f"{prefix}/{first}", Body=b"somebody else's")
        s3.put_object(Bucket=parts.netloc, Key=f"{prefix}/{second}", Body=b"", Metadata={})
    else:
        one.path(first).unlink()
        one.path(second).write_bytes(b"somebody else's")
    job.assemble(one.spec, RUN)
    assert one.digest() == plain


def test_a_run_that_is_damaged_is_found_where_it_is_copied(
    local: Job, plain: str, caplog: pytest.LogCaptureFixture
) -> None:
    make_boxes(local.spec, missing_boxes(local.spec), RUN)
    path = local.path(sorted(local.boxes())[2])
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    with caplog.at_level(logging.WARNING):
        assert job.assemble(local.spec, RUN).outcome == "written"
    assert path.name in " ".join(caplog.messages)
    assert local.digest() == plain


def test_a_damaged_tile_is_left_to_assembly_which_names_it(
    local: Job, caplog: pytest.LogCaptureFixture
) -> None:
    tile = local.path(keys.tile_key(local.spec.plan.job_id, "0000_0001"))
    data = bytearray(tile.read_bytes())
    data[data.index(b"\x28\xb5\x2f\xfd") + 9] ^= 1  # in the first block of its seed
    with tile.open("r+b") as file:
        file.write(data)
    batch = make_boxes(local.spec, missing_boxes(local.spec), RUN)
    assert outcomes(batch) == ["failed"] + ["written"] * (BOXES - 1)
    assert "0000_0001" in caplog.text
    with pytest.raises(Exception, match="0000_0001"):
        job.assemble(local.spec, RUN)


def test_what_is_not_ours_at_a_boxs_key_is_a_conflict_of_the_task_alone(
    local: Job, plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = committing._put

    def overtaken(session: Any, spec: Any, key: str, *rest: Any) -> Any:
        local.path(key).parent.mkdir(parents=True)
        local.path(key).write_bytes(b"somebody else's")
        return put(session, spec, key, *rest)

    monkeypatch.setattr(committing, "_put", overtaken)
    with pytest.raises(ForeignObject, match="top-"):
        make_boxes(local.spec, missing_boxes(local.spec)[:1], RUN)
    job.assemble(local.spec, RUN)
    assert local.digest() == plain
