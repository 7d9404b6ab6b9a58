"""Scenarios 8, 10, 11 and 12 through the engine: windows of the model's job on real stores."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import pytest

from scenemosaic import job, keys, session, windows
from scenemosaic.committing.commit import RetryPolicy, commit_object
from scenemosaic.errors import Diverged, PermanentStoreError
from scenemosaic.manifests import open_manifest
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stores.port import Body, IfAbsent, Store
from scenemosaic.tile import EncodedTile
from tests.faults.effects import FakeTime
from tests.faults.model import job as model_job
from tests.faults.model.checks import Violation
from tests.faults.model.mutants import MUTANTS, Wrap
from tests.faults.model.world import Fate, World
from tests.faults.proxy import Fault
from tests.faults.stores import FailingHeadStore
from tests.scenarios.stands import Stand

ME, OTHER = Run("me", "me"), Run("other", "other")
POLICY = RetryPolicy(attempts=6)
SPEC = JobSpec(model_job.plan(), ("none",), "stand:", "stand:")
WINDOW = model_job.names()[0]
KEY = keys.tile_key(SPEC.plan.job_id, WINDOW)


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[Store], Session]:
    """A session on a store, with rows in memory; what a window's tile is says ``tile``."""

    def opened(store: Store) -> Session:
        manifest = open_manifest("sqlite://")
        manifest.ensure()
        made = Session(store, manifest, POLICY, FakeTime().effects())
        monkeypatch.setattr(session, "open_place", lambda place: made)
        return made

    return opened


def commit(tile: EncodedTile, run: Run) -> job.BatchResult:
    with mock.patch.object(windows, "make_tile", return_value=tile):
        return job.commit_windows(SPEC, [0], run)


def body_of(tile: EncodedTile, run: Run) -> Body:
    metadata = {"job_id": SPEC.plan.job_id, "write_id": run.write_id(WINDOW)}
    return Body(tile.data, tile.sha256, keys.TIFF_CONTENT_TYPE, metadata | {"sha256": tile.sha256})


def usual() -> EncodedTile:
    return model_job.tiles(6)[WINDOW]


def test_scenario_08_a_holder_that_pauses_past_its_claims_expiry_and_then_writes() -> None:
    with World() as world:
        world.go_through_s3()
        paused = world.start("paused")
        while paused.call is not None and paused.call.verb != "compose":
            world.step(paused, Fate.DELIVER)
        other = world.start("other")
        while not other.ended:
            world.step(other, Fate.DELIVER)
        while not paused.ended:
            world.step(paused, Fate.DELIVER)
        assert (other.result.outcome, paused.result.outcome) == ("written", "already-present")
        assert paused.error is None
        world.settle()


def test_scenario_10_a_store_that_only_pretends_gets_no_job() -> None:
    """Other ways to pretend, and the emulators that do: tests/preflight."""
    with _pretending() as wrap, World(wrap) as world:
        world.sound.clear()
        world.start("a")
        with pytest.raises(Violation, match="PreconditionsIgnored"):
            _until(world, "tiles/")
        assert list(world.checks.store.history) == [keys.PROBE_KEY]


def test_scenario_10_without_that_look_it_would_be_written_twice() -> None:
    with _pretending() as wrap, World(wrap) as world:
        world.start("a")
        _until(world, "tiles/")
        world.start("b")
        with pytest.raises(Violation, match=r"plan\.json was written again"):
            _until(world, "tiles/")


def _until(world: World, target: str) -> None:
    """The newest worker goes on up to its first call there."""
    worker = world.workers[-1]
    while worker.call is not None and not worker.call.target.startswith(target):
        world.step(worker, Fate.DELIVER)


def _pretending() -> AbstractContextManager[Wrap | None]:
    _, mistake = MUTANTS["the_store_ignores_conditions"]
    return mistake()


def test_scenario_11_other_bytes_of_the_same_pixels(
    stand: Stand, on: Callable[[Store], Session], caplog: pytest.LogCaptureFixture
) -> None:
    made, theirs = on(stand.store), model_job.tiles(1)[WINDOW]
    commit_object(
        stand.direct, KEY, body_of(theirs, OTHER), IfAbsent(), POLICY, FakeTime().effects()
    )
    with caplog.at_level(logging.WARNING, "scenemosaic.divergence"):
        batch = commit(usual(), ME)
    assert (batch.counters["already_present"], batch.counters["diverged"]) == (1, 1)
    (said,) = caplog.messages
    assert theirs.sha256 in said
    assert usual().sha256 in said
    row, stored = made.manifest.get(made.partition(SPEC), WINDOW), stand.direct.head(KEY)
    assert row is not None
    assert stored is not None
    assert (row.sha256, row.crc, row.etag) == (theirs.sha256, theirs.crc, stored.etag)
    assert stand.door.read(KEY) == theirs.data


def test_scenario_11_other_pixels(stand: Stand, on: Callable[[Store], Session]) -> None:
    made, theirs = on(stand.store), _with_other_pixels()
    commit_object(
        stand.direct, KEY, body_of(theirs, OTHER), IfAbsent(), POLICY, FakeTime().effects()
    )
    with pytest.raises(Diverged, match=theirs.sha256):
        commit(usual(), ME)
    assert stand.door.read(KEY) == theirs.data
    assert stand.door.versions(KEY) == 1
    assert made.manifest.get(made.partition(SPEC), WINDOW) is None


def _with_other_pixels() -> EncodedTile:
    window = SPEC.plan.recipe.tiling().window(0)
    changed = model_job.pixels()[:, window.y0 : window.y1, window.x0 : window.x1] + 1
    return model_job.encoded(changed, window, SPEC.plan.recipe)


def test_scenario_12_a_forbidden_read_back_is_permanent_and_makes_no_row(
    stand: Stand, on: Callable[[Store], Session]
) -> None:
    commit_object(
        stand.direct, KEY, body_of(usual(), OTHER), IfAbsent(), POLICY, FakeTime().effects()
    )
    store: Any = stand.store
    if stand.proxy is None:
        store = FailingHeadStore(store, failures=0, permanent=True)
    else:
        stand.proxy.rule = lambda seen: Fault.REFUSE_403 if seen.method in ("HEAD", "GET") else None
    made = on(store)
    with pytest.raises(PermanentStoreError, match="403"):
        commit(usual(), ME)
    assert list(made.manifest.windows([made.partition(SPEC)])) == []
