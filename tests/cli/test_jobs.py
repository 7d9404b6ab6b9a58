"""``scenemosaic jobs``: what a root holds, from its plans alone."""

import hashlib
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from flows.cli import run
from scenemosaic import job, keys
from scenemosaic.canonical import encode
from scenemosaic.job import JobSpec, PlanOptions, Run
from scenemosaic.ledger.book import Wanted
from scenemosaic.publishing import publication
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Body, IfAbsent
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.jobs.places import MakePlace, Place

DAMAGED = "ab" * 16


@pytest.fixture
def place(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = make_place()
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    return made


def keep(place: Place, key: str, data: bytes) -> None:
    with closing(open_store(place.root)) as store:
        sha256 = hashlib.sha256(data).hexdigest()
        body = Body(data, sha256, "application/json", {"sha256": sha256})
        store.put(key, body, IfAbsent())


def planned(place: Place, scene: Path, title: str | None) -> JobSpec:
    options = PlanOptions(WINDOW, BLOCK, title=title, datetime="2024-05-01T10:20:30Z")
    spec = job.plan_job([str(scene)], place.root, place.manifest, options)
    keep(place, keys.plan_key(spec.plan.job_id), spec.plan.canonical)
    return spec


def listed(place: Place, capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    assert run(["jobs", "--to", place.root, "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_jobs_of_a_root(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = make_scene(tmp_path / "scene.tif")
    titled, plain = planned(place, scene, "Fields"), planned(place, scene, None)
    keep(place, keys.item_key(titled.plan.job_id), encode({}))
    keep(place, keys.plan_key(DAMAGED), b"{}")
    keep(place, f"jobs/{DAMAGED}/notes.txt", b"no plan")
    value = listed(place, capsys)
    jobs = {one["job_id"]: one for one in value["jobs"]}
    assert (value["root"], value["total"], value["more"]) == (place.root, 3, 0)
    assert {one: jobs[one]["finished"] for one in jobs} == {
        titled.plan.job_id: True,
        plain.plan.job_id: False,
        DAMAGED: False,
    }
    said = jobs[plain.plan.job_id]["plan"]
    assert said["name"] == f"a local file of {scene.stat().st_size} bytes"
    assert (said["width"], said["height"], said["windows"]) == (500, 300, 12)
    assert jobs[DAMAGED]["plan"] is None
    assert "is damaged: it hashes to " in jobs[DAMAGED]["problem"]
    assert run(["jobs", "--to", place.root]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [one["job_id"] for one in value["jobs"]]
    (line,) = (line for line in lines if line.startswith(titled.plan.job_id))
    assert line.endswith(
        "Z  finished      Fields (500 x 300 pixels, 2 x uint16, 12 windows, "
        "taken 2024-05-01T10:20:30Z)"
    )
    few = listed(place, capsys, "--limit", "2")
    assert few["jobs"] == value["jobs"][:2]
    assert (few["total"], few["more"]) == (3, 1)
    assert run(["jobs", "--to", place.root, "--limit", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["… and 1 older job: --limit 3 shows all"]


def states(place: Place, capsys: pytest.CaptureFixture[str]) -> list[tuple[bool, bool]]:
    """Whether each job is finished, and whether it is published."""
    return [(one["finished"], one["published"]) for one in listed(place, capsys)["jobs"]]


def test_a_root_without_jobs(local_place: MakePlace, capsys: pytest.CaptureFixture[str]) -> None:
    place = local_place()
    assert run(["jobs", "--to", place.root]) == 2
    nothing = f"nothing of scenemosaic is under {place.root}: is the root spelled right?"
    assert capsys.readouterr().err == f"scenemosaic: {nothing}\n"
    assert run(["init", place.root]) == 0
    capsys.readouterr()
    assert run(["jobs", "--to", place.root, "--manifest", place.manifest]) == 0
    assert capsys.readouterr().out == f"no job is under {place.root}\n"
    assert listed(place, capsys) == {"root": place.root, "jobs": [], "total": 0, "more": 0}


@pytest.mark.parametrize(("name", "said"), [("absent", "no folder"), ("file", "is a file")])
def test_what_is_no_folder(
    name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert run(["jobs", "--to", str(tmp_path / name)]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "absent").exists()


def test_a_job_of_a_real_run_is_finished_and_then_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, root = make_scene(tmp_path / "scene.tif", WINDOW, WINDOW), tmp_path / "root"
    spec = job.plan_job([str(scene)], str(root), None, PlanOptions(WINDOW, BLOCK))
    tester = Run("test", "test")
    job.prepare(spec)
    job.publish_plan(spec, tester)
    place = Place(root.as_uri(), "")
    assert states(place, capsys) == [(False, False)]
    job.commit_windows(spec, range(1), tester)
    job.assemble(spec, tester)
    assert states(place, capsys) == [(True, False)]
    publication.publish(spec, "publish", Wanted("publisher", spec.plan.job_id))
    assert states(place, capsys) == [(True, True)]
    assert run(["jobs", "--to", place.root]) == 0
    assert "Z  published     " in capsys.readouterr().out
