"""The flow ``repair-scene``: its final states, and its retries."""

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from prefect.client.schemas.objects import State

from flows.repair import repair_scene
from flows.scenes import repairing
from scenemosaic.errors import SourceReadError, TransientStoreError
from scenemosaic.repair import engine, replacing
from tests.jobs.conftest import write_scene
from tests.jobs.places import MakePlace
from tests.repair.made import Made, make
from tests.repair.writing import write_live

pytestmark = pytest.mark.usefixtures("harness")
NAME = "0001_0001"


@pytest.fixture
def made(local_place: MakePlace, tmp_path: Path) -> Made:
    return make(local_place(), write_scene(tmp_path / "scene.tif", 192, 192))


def run(made: Made, *names: str, accept_new_source: bool = False) -> "State[Any]":
    return repair_scene(
        made.job_id,
        made.spec.root,
        made.spec.manifest,
        windows=list(names) or None,
        sources=[str(made.scene)],
        accept_new_source=accept_new_source,
        workers=2,
        return_state=True,
    )


def test_repaired_and_nothing_to_repair(made: Made) -> None:
    made.damage(made.tile_key(NAME))
    state = run(made)
    assert (state.is_completed(), state.name) == (True, "Repaired")
    assert run(made).name == "NothingToRepair"
    assert run(made, NAME).name == "NothingToRepair"


def test_superseded_is_completed(made: Made) -> None:
    made.damage(made.tile_key(NAME))
    newer, real = made.tile(NAME), replacing.Target._moved_on

    def overtaken(target: Any) -> bool:
        write_live(made, NAME, newer)
        return real(target)

    with mock.patch.object(replacing.Target, "_moved_on", overtaken):
        state = run(made)
    assert (state.is_completed(), state.name) == (True, "Superseded")
    assert state.result(raise_on_failure=False).exit_code == 4


def test_a_source_that_does_not_decode_is_incomplete(made: Made) -> None:
    made.damage(made.tile_key(NAME))
    with mock.patch("scenemosaic.sources.computed_bands.read_window", side_effect=_cannot_be_read):
        state = run(made)
    assert (state.is_failed(), state.name) == (True, "Incomplete")


def _cannot_be_read(*_: Any) -> None:
    raise SourceReadError("it cannot be read")


def test_bad_input_is_failed_and_a_new_source_makes_a_new_job(made: Made) -> None:
    assert run(made, "0009_0009").name == "BadInput"
    write_scene(made.scene, 192, 192, seed=5)
    assert run(made, NAME).name == "BadInput"
    state = run(made, NAME, accept_new_source=True)
    assert state.name == "Mosaicked"
    assert state.result(raise_on_failure=False).job_id != made.job_id


def test_a_fault_is_tried_again(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    made.damage(made.tile_key(NAME))
    quick = repairing.repair_windows.with_options(retry_delay_seconds=0, retry_jitter_factor=0)
    monkeypatch.setattr(repairing, "repair_windows", quick)
    real, faults = engine.repair_windows, [TransientStoreError("503")]

    def faulty(*arguments: Any, **named: Any) -> Any:
        if faults:
            raise faults.pop()
        return real(*arguments, **named)

    monkeypatch.setattr(engine, "repair_windows", faulty)
    assert run(made).name == "Repaired"
    assert faults == []
