"""A scheduled ingest inside a test API: each scene is new once, and no job is started twice."""

import json
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    ArtifactFilterKey,
)
from prefect.client.schemas.objects import State

from blocks.mosaic_recipe import RecipeFields
from flows import ingest_new
from flows.ingest_new import ingest_new_scenes
from flows.reports.ingest import IngestReport
from flows.starting.launch import Ended, Launch, Started
from scenemosaic import job, keys
from scenemosaic.discovery.schedule import Schedule
from scenemosaic.errors import Contended, InputError, PermanentStoreError
from scenemosaic.job import JobSpec, Run
from tests.flows.scenes import BLOCK, make_scene
from tests.plan.web import serving

pytestmark = pytest.mark.usefixtures("harness")
NAME = "nightly"
RECIPE = RecipeFields(window=BLOCK * 2, block_size=BLOCK)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "scenes"
    folder.mkdir()
    for seed in range(3):
        small(folder / f"{seed}.tif", seed)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def small(path: Path, seed: int) -> Path:
    return make_scene(path, 100, 80, seed)


def ingest(folder: Path, root: Path, deployment: str | None = "", **more: Any) -> IngestReport:
    return report_of(state_of(folder, root, deployment, **more))


def state_of(folder: Path, root: Path, deployment: str | None = "", **more: Any) -> "State[Any]":
    scenes = {"prefix": str(folder)} | more
    return ingest_new_scenes(
        NAME, scenes, str(root), recipe=RECIPE, deployment=deployment, return_state=True
    )


def report_of(state: "State[Any]") -> IngestReport:
    value = state.result(raise_on_failure=False)
    assert isinstance(value, IngestReport), value
    return value


def files(root: Path) -> dict[str, int]:
    return {str(one): one.stat().st_mtime_ns for one in root.rglob("*") if one.is_file()}


def names(report: IngestReport) -> list[str]:
    return sorted(Path(row.scene).name for row in report.rows)


def mosaics(root: Path) -> int:
    return len(list(root.glob(keys.mosaic_key("*"))))


@dataclass
class Prefect:
    """A launcher as a deployment is one: a run for each key, whoever asks for it."""

    asked: Counter[str] = field(default_factory=Counter)
    ran: Counter[str] = field(default_factory=Counter)
    refusing: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, launch: Launch) -> Started:
        with self.lock:
            if any(name in launch.scene.sources[0] for name in self.refusing):
                raise InputError("Prefect has no such deployment")
            self.asked[launch.key] += 1
            return Started(f"run-of-{launch.key}", launch.key in self.ran)

    def wait(self, launch: Launch, started: Started) -> Ended:
        with self.lock:
            if launch.key not in self.ran:
                carry_out(launch.scene.spec)
                self.ran[launch.key] += 1
        return Ended("Mosaicked", "", started.run_id, 0, started.is_earlier)

    def stop(self) -> None:
        pass

    def __enter__(self) -> "Prefect":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def carry_out(spec: JobSpec) -> None:
    run = Run("deployed", "deployed")
    job.prepare(spec)
    job.publish_plan(spec, run)
    job.commit_windows(spec, job.missing_windows(spec), run)
    job.assemble(spec, run)


@pytest.fixture
def prefect(monkeypatch: pytest.MonkeyPatch) -> Prefect:
    made = Prefect()
    monkeypatch.setattr(ingest_new, "launcher_of", lambda deployment, at_once: made)
    return made


def test_new_once_and_then_nothing_is_written(folder: Path, root: Path) -> None:
    first = state_of(folder, root)
    report = report_of(first)
    assert (first.name, first.is_completed()) == ("Ingested", True)
    assert [row.state for row in report.rows] == ["Mosaicked"] * 3
    assert mosaics(root) == 3
    assert (root / keys.ingest_key(NAME)).is_file()
    before = files(root)
    second = state_of(folder, root)
    assert (second.name, second.is_completed(), second.message) == (
        *("NothingNew", True, "nothing new"),
    )
    assert files(root) == before

    run_id = first.state_details.flow_run_id
    with get_client(sync_client=True) as client:
        run = client.read_flow_run(run_id)
        (table,) = client.read_artifacts(
            artifact_filter=ArtifactFilter(
                key=ArtifactFilterKey(any_=["ingest-new-scenes"]),
                flow_run_id=ArtifactFilterFlowRunId(any_=[run_id]),
            )
        )
    assert run.name == f"{NAME}: {folder} → {'/'.join(root.parts[-2:])}"
    assert {row["state"] for row in json.loads(table.data)} == {"Mosaicked"}


@pytest.mark.usefixtures("prefect")
def test_a_replaced_scene_is_new_again_and_so_is_one_more(folder: Path, root: Path) -> None:
    ingest(folder, root)
    small(folder / "1.tif", 11)
    small(folder / "3.tif", 3)
    # Its content is another's: the same scene under another name.
    shutil.copy(folder / "0.tif", folder / "copy.tif")
    report = ingest(folder, root)
    assert names(report) == ["1.tif", "3.tif", "copy.tif"]
    states = {Path(row.scene).name: row.state for row in report.rows}
    assert states == {"1.tif": "Mosaicked", "3.tif": "Mosaicked", "copy.tif": "AlreadyMosaicked"}
    assert ingest(folder, root).rows == ()
    assert mosaics(root) == 5


def test_two_at_once_start_each_job_once(folder: Path, root: Path, prefect: Prefect) -> None:
    reports: list[IngestReport] = []
    both = [
        threading.Thread(target=lambda: reports.append(ingest(folder, root, "x/y")))
        for _ in range(2)
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(reports) == 2
    assert not any(report.has_failed for report in reports)
    assert set(prefect.ran.values()) == {1}
    assert len(prefect.ran) == mosaics(root) == 3
    assert ingest(folder, root, "x/y").rows == ()


def test_it_dies_between_the_start_and_the_cursor(
    folder: Path, root: Path, prefect: Prefect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as dying:
        dying.setattr(Schedule, "advance", die)
        assert state_of(folder, root, "x/y").is_failed()
    assert len(prefect.ran) == 3
    assert not (root / keys.ingest_key(NAME)).exists()
    report = ingest(folder, root, "x/y")
    assert names(report) == ["0.tif", "1.tif", "2.tif"]
    assert set(prefect.ran.values()) == {1}
    assert ingest(folder, root, "x/y").rows == ()


@pytest.mark.usefixtures("prefect")
def test_a_refused_scene_is_a_row_and_not_looked_at_again(folder: Path, root: Path) -> None:
    (folder / "bad.tif").write_bytes(b"no raster at all")
    state = state_of(folder, root)
    assert (state.name, state.is_completed()) == ("Ingested", True)
    (bad,) = [row for row in report_of(state).rows if row.state == "BadInput"]
    assert "bad.tif" in bad.detail
    assert mosaics(root) == 3
    assert ingest(folder, root).rows == ()
    # Once it is whole it has another version.
    small(folder / "bad.tif", 5)
    assert names(ingest(folder, root)) == ["bad.tif"]


def test_what_cannot_be_started_is_kept_for_next_time(
    folder: Path, root: Path, prefect: Prefect
) -> None:
    prefect.refusing = {"1.tif"}
    state = state_of(folder, root, "x/y")
    assert (state.name, state.is_failed()) == ("Incomplete", True)
    assert "1 kept for next time" in str(state.message)
    assert names(again := ingest(folder, root, "x/y")) == ["1.tif"]
    assert again.has_failed
    prefect.refusing = set()
    assert ingest(folder, root, "x/y").state == "Ingested"
    assert ingest(folder, root, "x/y").rows == ()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    def plant(error: Exception) -> None:
        def advance(*_: object) -> None:
            raise error

        monkeypatch.setattr(Schedule, "advance", advance)

    return plant


@pytest.mark.usefixtures("prefect")
def test_a_storm_on_the_cursor_is_no_failure(
    folder: Path, root: Path, failing: Callable[[Exception], None]
) -> None:
    failing(Contended("others were first"))
    state = state_of(folder, root)
    assert (state.name, state.is_completed()) == ("Ingested", True)
    assert "others moved the cursor" in str(state.message)
    assert {row.state for row in ingest(folder, root).rows} == {"AlreadyMosaicked"}


@pytest.mark.usefixtures("prefect")
def test_a_cursor_that_cannot_be_written_is_a_fault(
    folder: Path, root: Path, failing: Callable[[Exception], None]
) -> None:
    failing(PermanentStoreError("no permission"))
    state = state_of(folder, root)
    assert (state.name, state.is_failed()) == ("StoreFault", True)


@pytest.mark.usefixtures("prefect")
def test_so_many_a_run_and_the_rest_next_time(folder: Path, root: Path) -> None:
    first = ingest(folder, root, at_most=2)
    assert (len(first.rows), first.left) == (2, 1)
    assert "1 more wait for the next run" in first.summary
    second = ingest(folder, root, at_most=2)
    assert (len(second.rows), second.left) == (1, 0)
    assert sorted([*names(first), *names(second)]) == ["0.tif", "1.tif", "2.tif"]
    assert ingest(folder, root, at_most=2).rows == ()


@pytest.mark.usefixtures("prefect")
def test_a_stac_catalog_s_new_items(folder: Path, root: Path, tmp_path: Path) -> None:
    catalog = tmp_path / "items.json"
    items = [item(folder / f"{n}.tif", n) for n in range(3)]
    for wanted, count in ((items[:2], 2), (items, 1), (items, 0)):
        text = json.dumps({"type": "FeatureCollection", "features": wanted})
        catalog.write_text(text)
        report = ingest(folder, root, prefix=None, stac=str(catalog))
        assert len(report.rows) == count
    assert mosaics(root) == 3


@pytest.mark.usefixtures("prefect")
def test_an_unusable_item_is_reported_once_and_passed(
    folder: Path, root: Path, tmp_path: Path
) -> None:
    bad: list[Any] = [
        item(folder / "0.tif", 0) | {"id": "empty", "assets": {}},
        item(folder / "0.tif", 1)
        | {"id": "ftp", "assets": {"image": TIFF | {"href": "ftp://h/a"}}},
        {"id": "none"},
        item(folder / "gone.tif", 2),
    ]
    catalog = tmp_path / "items.json"
    good = item(folder / "1.tif", 1)
    catalog.write_text(json.dumps({"type": "FeatureCollection", "features": [*bad, good]}))
    state = state_of(folder, root, prefix=None, stac=str(catalog))
    rows = {row.scene: row for row in report_of(state).rows}
    assert (state.name, state.is_completed(), mosaics(root)) == ("Ingested", True, 1)
    assert rows.pop(str(folder / "1.tif")).state == "Mosaicked"
    assert {(row.state, row.job_id) for row in rows.values()} == {("BadInput", None)}
    assert rows[f"item ftp of {catalog}"].detail.startswith(f"item ftp of {catalog}: ftp://")
    assert len(rows) == len(bad)
    assert ingest(folder, root, prefix=None, stac=str(catalog)).rows == ()

    bad[0] |= {"assets": {"image": TIFF | {"href": str(folder / "0.tif")}}}
    catalog.write_text(json.dumps({"type": "FeatureCollection", "features": [*bad, good]}))
    (mended,) = ingest(folder, root, prefix=None, stac=str(catalog)).rows
    assert (mended.scene, mended.state) == (str(folder / "0.tif"), "Mosaicked")


def test_a_scene_that_no_record_may_name_is_passed(
    folder: Path, root: Path, tmp_path: Path, prefect: Prefect
) -> None:
    def launch(launch: Launch) -> Started:
        launch.parameters()
        raise AssertionError("it has none")

    prefect.start = launch  # type: ignore[method-assign]
    with serving(folder) as url:
        signed = {"image": TIFF | {"href": f"{url}/0.tif?X-Amz-Signature=hunter2"}}
        catalog = tmp_path / "items.json"
        features = [item(folder / "0.tif", 0) | {"assets": signed}]
        catalog.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
        (row,) = (report := ingest(folder, root, prefix=None, stac=str(catalog))).rows
    assert (row.state, row.job_id, report.state) == ("BadInput", None, "Ingested")
    assert "signed URL" in row.detail
    assert "hunter2" not in repr(report)
    assert "hunter2" not in (root / keys.ingest_key(NAME)).read_text()


TIFF = {"type": "image/tiff; application=geotiff", "roles": ["data"]}


def item(path: Path, number: int) -> dict[str, Any]:
    return {
        "type": "Feature",
        "stac_version": "1.0.0",
        "id": path.stem,
        "properties": {"datetime": f"2024-05-0{number + 1}T10:00:00Z"},
        "geometry": None,
        "links": [],
        "assets": {"image": TIFF | {"href": str(path)}},
    }


@pytest.mark.parametrize(
    ("scenes", "text"),
    [
        ({"prefix": None, "scenes": ["/a.tif"]}, "never new"),
        ({"stac": "/b.json"}, "exactly one"),
        ({"prefix": "gs://bucket/x"}, "gs://"),
    ],
)
def test_what_cannot_be_watched_is_bad_input(
    folder: Path, root: Path, scenes: dict[str, object], text: str
) -> None:
    state = state_of(folder, root, **scenes)
    assert (state.name, state.is_failed()) == ("BadInput", True)
    assert text in str(state.message)
    assert not root.exists()
