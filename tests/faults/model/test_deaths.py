"""Invariant 5, one by one: death between each pair of adjacent effects of a whole job."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from scenemosaic import job, keys, places, session
from scenemosaic.committing.commit import RetryPolicy
from scenemosaic.manifests import open_manifest
from scenemosaic.planning import PlanOptions
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stores import open_store
from tests.faults.effects import FakeTime
from tests.faults.model.gate import Call, Death, Gate, Gated
from tests.faults.model.world import DEATHS, Fate, Worker, World
from tests.jobs.conftest import write_scene
from tests.jobs.places import Place

# plan, 2 x 2 tiles with their rows, and what is published.
LEAST_EFFECTS = 2 + 4 * 2 + 4


def _world() -> World:
    """With everything that has an effect: claims and uploads."""
    world = World()
    world.go_through_s3()
    return world


def _model_effects() -> list[str]:
    with _world() as world:
        worker = world.start("whole")
        return [str(call) for call in _effects_of(world, worker)]


def _effects_of(world: World, worker: Worker) -> Iterator[Call]:
    while worker.call is not None:
        if worker.call.effect:
            yield worker.call
        world.step(worker, Fate.DELIVER)


def _bytes_of(world: World) -> dict[str, list[bytes]]:
    history = world.checks.store.history
    contract = sorted(key for key in history if not keys.audit_number(key))
    return {key: [version.data for version in history[key]] for key in contract}


@pytest.fixture(scope="module")
def expected() -> dict[str, list[bytes]]:
    with _world() as world:
        world.settle()
        return _bytes_of(world)


EFFECTS = _model_effects()


def test_the_whole_job_is_walked_through() -> None:
    verbs = [text.split("/")[0].partition(" ")[0] for text in EFFECTS]
    assert len(EFFECTS) >= LEAST_EFFECTS
    assert {
        "store.put",
        "store.begin",
        "store.compose",
        "manifest.insert",
        "manifest.replace",
    } <= set(verbs)


@pytest.mark.parametrize("again_as", ["killed", "another"])
@pytest.mark.parametrize("fate", DEATHS, ids=lambda fate: fate.name)
@pytest.mark.parametrize("number", range(len(EFFECTS)), ids=lambda n: f"{n}-{EFFECTS[n][:24]}")
def test_in_the_model(
    number: int, fate: Fate, again_as: str, expected: dict[str, list[bytes]]
) -> None:
    with _world() as world:
        worker = world.start("killed")
        next(itertools.islice(_effects_of(world, worker), number, None))
        world.step(worker, fate)
        assert worker.dead
        again = world.start(again_as)
        world.settle()
        assert again.error is None
        assert _bytes_of(world) == expected


class Life:
    """A gate that lets ``effects`` effects pass, and then kills."""

    def __init__(self, effects: int | None) -> None:
        self.left, self.seen, self.dead = effects, [], False  # type: ignore[var-annotated]

    def __call__(self, call: Call) -> Any:
        if self.dead:
            raise Death
        if call.effect:
            if self.left is not None and len(self.seen) == self.left:
                self.dead = True
                raise Death
            self.seen.append(str(call))
        return call.run()


@contextlib.contextmanager
def gated(gate: Gate) -> Iterator[None]:
    def opened(place: places.Place) -> Session:
        store = Gated("store", open_store(place.store.root), gate)
        rows: Any = Gated("manifest", open_manifest(place.manifest.url), gate)
        time = FakeTime()
        return Session(store, rows, RetryPolicy(), time.effects())  # type: ignore[arg-type]

    with mock.patch.object(session, "open_place", opened):
        yield


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scene(tmp_path_factory.mktemp("scene") / "scene.tif", 96, 96)


@pytest.fixture
def process(scene: Path) -> Callable[[Path, str, Gate], Place]:
    """One run in this process, under a gate."""

    def run(top: Path, run_id: str, gate: Gate) -> Place:
        place = Place(top.as_uri(), f"sqlite:///{top}/manifest.db")
        options = PlanOptions(window=64, block_size=64)
        with gated(gate):
            _whole(job.plan_job([str(scene)], place.root, place.manifest, options), run_id)
        return place

    return run


def _whole(spec: JobSpec, run_id: str) -> None:
    me = Run(run_id, run_id)
    if job.finished(spec) is None:
        job.prepare(spec)
        job.publish_plan(spec, me)
        job.commit_windows(spec, job.missing_windows(spec), me)
        job.assemble(spec, me)


@pytest.mark.parametrize("again_as", ["killed", "another"])
def test_on_the_local_store_and_sqlite(
    process: Callable[[Path, str, Gate], Place], tmp_path: Path, again_as: str
) -> None:
    whole = Life(None)
    expected = process(tmp_path / "whole", "whole", whole).versions()
    assert len(whole.seen) >= LEAST_EFFECTS
    for effects in range(len(whole.seen)):
        top, life = tmp_path / str(effects), Life(effects)
        with pytest.raises(Death):
            process(top, "killed", life)
        assert life.dead
        again = Life(None)
        assert process(top, again_as, again).versions() == expected
        idle = Life(0)
        process(top, "idle", idle)
        assert idle.seen == []
