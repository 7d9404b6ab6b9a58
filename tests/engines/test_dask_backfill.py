"""Backfills on a Dask cluster: one for all scenes of a run, none where nothing is missing."""

from pathlib import Path
from typing import Any

import distributed
import pytest

from blocks.mosaic_recipe import RecipeFields
from flows import cli
from flows.backfill import backfill_scenes
from flows.forms.scene_selection import SceneSelection
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.flows.serving import objects

pytestmark = [pytest.mark.usefixtures("api"), pytest.mark.slow]
RECIPE = RecipeFields(window=WINDOW, block_size=BLOCK)


@pytest.fixture
def scenes(tmp_path: Path) -> list[str]:
    return [str(make_scene(tmp_path / f"{seed}.tif", seed=seed)) for seed in (1, 2)]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The clusters that were started."""
    found: list[Any] = []
    real: Any = distributed.LocalCluster

    def start(**given: Any) -> Any:
        found.append(real(**given))
        return found[-1]

    monkeypatch.setattr(distributed, "LocalCluster", start)
    return found


def run(scenes: list[str], root: Path, address: str | None = None) -> Any:
    return backfill_scenes(
        SceneSelection(scenes=scenes),
        str(root),
        recipe=RECIPE,
        at_once=2,
        deployment="",
        engine="dask",
        engine_address=address,
        return_state=True,
    )


def test_scenes_at_once_share_one_cluster(
    scenes: list[str], tmp_path: Path, sent: list[bytes], started: list[Any]
) -> None:
    root = tmp_path / "root"
    state = run(scenes, root)
    report = state.result(raise_on_failure=False)
    assert [row.state for row in report.rows] == ["Mosaicked", "Mosaicked"], report
    assert len(sent) >= 2
    assert [one.status for one in started] == [distributed.core.Status.closed]
    before = objects(root)
    assert run(scenes, root).name == "AlreadyMosaicked"
    assert objects(root) == before
    assert len(started) == 1


def test_a_command_uses_the_cluster_of_an_address(
    scenes: list[str],
    tmp_path: Path,
    cluster: Any,
    sent: list[bytes],
    started: list[Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = ["--engine", "dask", "--engine-address", cluster.scheduler_address]
    sizes = ["--window", str(WINDOW), "--block-size", str(BLOCK)]
    root = tmp_path / "root"
    assert cli.run(["backfill", *scenes, "--to", str(root), *sizes, *engine]) == 0
    assert "2 scenes: 2 Mosaicked" in capsys.readouterr().out
    assert (len(sent) >= 2, started) == (True, [])
