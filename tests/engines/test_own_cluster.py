"""One cluster serves a whole run, and ends as the run does. Threads stand for its workers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from blocks.mosaic_recipe import RecipeFields
from flows.engines import clusters, own_cluster
from flows.engines.clusters import Pool
from flows.engines.engine import Engine
from flows.engines.limits import Limits
from flows.engines.own_cluster import OwnCluster
from flows.process import process_scene
from flows.reports.scene import ProcessReport
from flows.scenes import run as scene_run
from scenemosaic import job, keys
from scenemosaic.errors import ForeignObject
from scenemosaic.mosaic import top_boxes as which
from tests.flows.scenes import BLOCK, WINDOW

pytestmark = pytest.mark.usefixtures("harness")
RECIPE = RecipeFields(window=WINDOW, block_size=BLOCK)
WINDOWS, BOXES = 12, 4


class Clusters:
    """What was done with clusters, in order."""

    def __init__(self) -> None:
        self.did: list[str] = []

    @contextmanager
    def start(self, limits: Limits) -> Iterator[Any]:
        self.did.append("started")
        try:
            yield self
        finally:
            self.did.append("ended")

    @contextmanager
    def pool(self, cluster: OwnCluster) -> Iterator[Pool]:
        assert cluster.get() is self
        self.did.append("used")
        with clusters._threads(cluster) as pool:
            yield pool


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Clusters:
    """Stands for Dask; and any mosaic has top boxes."""
    made = Clusters()
    monkeypatch.setitem(own_cluster._STARTS, "dask", made.start)
    monkeypatch.setitem(clusters._POOLS, "dask", made.pool)
    monkeypatch.setattr(which, "FROM_WINDOWS", 2)
    monkeypatch.setattr(which, "MOST_LEVELS", 1)
    return made


def run(scene: Path, root: Path) -> Any:
    return process_scene([str(scene)], str(root), recipe=RECIPE, engine="dask", return_state=True)


def report_of(state: Any) -> ProcessReport:
    value = state.result(raise_on_failure=False)
    assert isinstance(value, ProcessReport), value
    return value


def test_windows_and_top_boxes_have_one_cluster_which_ends_before_assembly(
    scene: Path, tmp_path: Path, made: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Any = scene_run.assemble_mosaic

    def assemble(*given: Any) -> Any:
        made.did.append("assembly")
        return real(*given)

    monkeypatch.setattr(scene_run, "assemble_mosaic", assemble)
    report = report_of(run(scene, tmp_path / "root"))
    assert (report.exit_code, report.totals["objects_written"]) == (0, 4 + BOXES)
    assert made.did == ["started", "used", "used", "ended", "assembly"]


def test_a_run_without_windows_to_make_starts_it_for_boxes_or_not_at_all(
    scene: Path, tmp_path: Path, made: Clusters
) -> None:
    root = tmp_path / "root"
    report = report_of(run(scene, root))
    (root / keys.item_key(report.job_id)).unlink()
    made.did.clear()
    assert run(scene, root).name == "AlreadyMosaicked"
    assert made.did == []
    (root / keys.item_key(report.job_id)).unlink()
    for box in (root / keys.top_boxes_prefix(report.job_id)).parent.glob("top-*"):
        box.unlink()
    assert report_of(run(scene, root)).exit_code == 0
    assert made.did == ["started", "used", "ended"]


def test_an_error_ends_it_before_the_manifest_is_asked(
    scene: Path, tmp_path: Path, made: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its workers have in hand may still be committed while it stands."""
    spec = job.plan_job([str(scene)], str(tmp_path / "root"), None, RECIPE.options())
    foreign = tmp_path / "root" / keys.tile_key(spec.plan.job_id, "0000_0001")
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"not ours")
    monkeypatch.setattr(scene_run, "_ask_again", lambda *_: made.did.append("asked"))
    assert isinstance(report_of(run(scene, tmp_path / "root")).error, ForeignObject)
    assert made.did == ["started", "used", "ended", "asked"]


@pytest.mark.parametrize("stage", ["collect", "make_boxes"])
def test_whatever_stops_a_run_ends_it(
    scene: Path, tmp_path: Path, made: Clusters, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """Ctrl-C and a cancellation raise in the run's own thread."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scene_run, stage, stop)
    with pytest.raises(KeyboardInterrupt):
        run(scene, tmp_path / "root")
    assert made.did == ["started", "used", "ended"]


def test_a_shared_one_outlives_the_run(made: Clusters) -> None:
    limits = Limits(2, engine=Engine("dask"))
    with OwnCluster(limits) as given:
        with own_cluster.shared(given, limits) as cluster:
            assert cluster.get() is made
        assert made.did == ["started"]
    assert made.did == ["started", "ended"]
