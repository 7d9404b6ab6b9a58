"""Backfills: so many at once, each scene a row, and nothing twice."""

import threading
from pathlib import Path
from typing import Any

import pytest
from prefect.client.schemas.objects import State

from blocks.mosaic_recipe import RecipeFields
from flows.backfill import backfill_scenes
from flows.reports.backfill import BackfillReport
from flows.server.api import PrefectUnavailable
from flows.starting.backfilling import Backfill, backfill
from flows.starting.launch import Ended, Launch, Started, Where
from scenemosaic import keys
from scenemosaic.discovery.found import Found
from scenemosaic.errors import TransientStoreError
from scenemosaic.places import place_at
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.flows.serving import objects

RECIPE = RecipeFields(window=WINDOW, block_size=BLOCK)


class Fake:
    """A launcher that does nothing, or what it is told to, and counts who is in flight."""

    def __init__(self, ended: Ended | None = None, together: int = 1) -> None:
        self.ended = ended or Ended("Mosaicked", "", "run", 0)
        self.launched: list[Launch] = []
        self.most = self._now = 0
        self._lock = threading.Lock()
        self._meet = threading.Barrier(together)

    def start(self, launch: Launch) -> Started:
        with self._lock:
            self.launched.append(launch)
            self._now += 1
            self.most = max(self.most, self._now)
        return Started("run")

    def wait(self, launch: Launch, started: Started) -> Ended:
        self._meet.wait(60)
        with self._lock:
            self._now -= 1
        return self.ended

    def stop(self) -> None:
        self.stopped = True

    def __enter__(self) -> "Fake":
        return self

    def __exit__(self, *_: object) -> None:
        self.left = True


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def scenes(tmp_path: Path) -> list[Found]:
    """Two scenes and one that is none."""
    (tmp_path / "bad.tif").write_text("no raster")
    paths = [make_scene(tmp_path / f"{seed}.tif", seed=seed) for seed in (1, 2)]
    return [Found(str(path), "", "") for path in (paths[0], tmp_path / "bad.tif", paths[1])]


def run(
    scenes: list[Found], root: Path, launcher: Any, at_once: int = 2, **more: Any
) -> BackfillReport:
    place = place_at(str(root))
    return backfill(
        scenes, Backfill(place, Where(str(root)), RECIPE.options(), at_once, **more), launcher
    )


def test_a_bad_scene_is_a_row_and_stops_no_other(scenes: list[Found], root: Path) -> None:
    launcher = Fake()
    report = run(scenes, root, launcher)
    assert [row.state for row in report.rows] == ["Mosaicked", "BadInput", "Mosaicked"]
    assert "bad.tif" in report.rows[1].detail
    assert report.rows[1].job_id is None
    assert len(launcher.launched) == 2
    assert (report.state, report.exit_code) == ("Incomplete", 3)


def test_what_was_refused_where_it_was_found_is_a_row(scenes: list[Found], root: Path) -> None:
    refused = Found("item x of https://stac/", "v", "", refused="item x of https://stac/: no asset")
    launcher = Fake()
    row, other = run([refused, scenes[0]], root, launcher).rows
    assert (row.scene, row.state, row.job_id) == (refused.source, "BadInput", None)
    assert (row.detail, row.exit_code) == (refused.refused, 2)
    assert (other.state, len(launcher.launched)) == ("Mosaicked", 1)


def test_a_document_that_nobody_could_read_is_a_fault_s_row(
    scenes: list[Found], root: Path
) -> None:
    fault = Found("s3://b/i.json", "", "", refused="no answer", refused_as=TransientStoreError)
    row, other = run([fault, scenes[0]], root, Fake()).rows
    assert (row.state, row.exit_code, row.detail) == ("StoreFault", 5, "no answer")
    assert other.state == "Mosaicked"


def test_a_dry_run_starts_nothing(scenes: list[Found], root: Path) -> None:
    launcher = Fake()
    report = run(scenes, root, launcher, dry_run=True)
    assert [row.state for row in report.rows] == ["WouldRun", "BadInput", "WouldRun"]
    assert launcher.launched == []
    assert not root.exists()
    assert report.note is not None
    assert "2 scenes of 3 without a time" in report.note


def test_at_most_so_many_are_in_flight(scenes: list[Found], root: Path) -> None:
    twice = [scenes[0], scenes[2]] * 3
    launcher = Fake(together=2)
    run(twice, root, launcher, at_once=2)
    assert (launcher.most, len(launcher.launched)) == (2, 6)
    alone = Fake()
    run(twice, root, alone, at_once=1)
    assert alone.most == 1


def test_an_earlier_run_that_failed_wants_another_attempt(scenes: list[Found], root: Path) -> None:
    failed = Ended("Incomplete", "1 window is missing", "run", 3, is_earlier=True)
    (row,) = run(scenes[:1], root, Fake(failed), attempt=4).rows
    assert (row.state, row.exit_code) == ("Incomplete", 3)
    assert "attempt 4 had ended before as Incomplete: 1 window is missing" in row.detail
    assert "raise attempt" in row.detail


def test_an_earlier_run_is_not_believed_where_its_mosaic_is_gone(
    scenes: list[Found], root: Path
) -> None:
    done = Ended("Mosaicked", "", "run", 0, is_earlier=True)
    (row,) = run(scenes[:1], root, Fake(done)).rows
    assert (row.state, row.exit_code) == ("Incomplete", 3)
    assert "gone since" in row.detail


def test_prefect_away_ends_it_all(scenes: list[Found], root: Path) -> None:
    class Away(Fake):
        def start(self, launch: Launch) -> Started:
            raise PrefectUnavailable("gone")

    launcher = Away()
    with pytest.raises(PrefectUnavailable):
        run(scenes, root, launcher)
    assert launcher.stopped


@pytest.mark.usefixtures("harness")
class TestFlow:
    """The flow with its scenes' runs in this process."""

    @staticmethod
    def run(scenes: list[Found], root: Path, **more: Any) -> "State[BackfillReport]":
        selection = {"scenes": [one.source for one in scenes]}
        return backfill_scenes(
            selection, str(root), recipe=RECIPE, deployment=None, **more, return_state=True
        )

    def test_twice(self, scenes: list[Found], root: Path) -> None:
        two = [scenes[0], scenes[2]]
        dry = self.run(two, root, dry_run=True)
        assert (dry.name, dry.is_completed(), root.exists()) == ("DryRun", True, False)
        first = self.run(two, root)
        assert (first.name, first.is_completed()) == ("Backfilled", True)
        mosaics = list(root.glob(keys.mosaic_key("*")))
        assert len(mosaics) == 2
        before = objects(root)
        second = self.run(two, root)
        assert (second.name, second.is_completed()) == ("AlreadyMosaicked", True)
        assert all(row.run_id is None for row in _report(second).rows), "no run is needed for it"
        again = self.run(two, root, mode="again")
        assert [row.state for row in _report(again).rows] == ["AlreadyMosaicked"] * 2
        assert all(row.run_id for row in _report(again).rows)
        assert objects(root) == before

    def test_a_scene_that_failed_is_failed(self, scenes: list[Found], root: Path) -> None:
        state = self.run(scenes[:2], root)
        assert (state.name, state.is_failed()) == ("Incomplete", True)
        assert "1 BadInput, 1 Mosaicked" in str(state.message)


def _report(state: "State[BackfillReport]") -> BackfillReport:
    value = state.result(raise_on_failure=False)
    assert isinstance(value, BackfillReport)
    return value
