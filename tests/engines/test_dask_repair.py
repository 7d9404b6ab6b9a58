"""Repairs on a Dask cluster."""

from pathlib import Path
from typing import Any

import pytest

from flows.repair import repair_scene
from tests.jobs.conftest import local_place, write_scene
from tests.jobs.places import MakePlace
from tests.repair.made import Made, make

__all__ = ["local_place"]

pytestmark = [pytest.mark.usefixtures("api"), pytest.mark.slow]
NAMES = ("0000_0001", "0001_0000", "0002_0002")


@pytest.fixture
def made(local_place: MakePlace, tmp_path: Path) -> Made:
    made = make(local_place(), write_scene(tmp_path / "scene.tif", 192, 192))
    for name in NAMES:
        made.damage(made.tile_key(name))
    return made


def test_the_flow_repairs_by_workers(made: Made, cluster: Any, sent: list[bytes]) -> None:
    state = repair_scene(
        made.job_id,
        made.spec.root,
        made.spec.manifest,
        sources=[str(made.scene)],
        engine="dask",
        engine_address=cluster.scheduler_address,
        return_state=True,
    )
    report = state.result(raise_on_failure=False)
    assert (state.name, len(sent)) == ("Repaired", len(NAMES))
    repaired = [(one.window, one.outcome) for one in report.windows]
    assert repaired == [(name, "written") for name in NAMES]
