"""Prices, and the command that says what a plan would take."""

import json
from pathlib import Path

import pytest

from flows import cli
from scenemosaic.errors import InputError
from scenemosaic.explain.cost import Prices, cost, prices_of
from scenemosaic.explain.mosaic_parts import level_raw_bytes, mosaic_parts
from scenemosaic.explain.work import Requests
from scenemosaic.grids.grid import Grid, ceil_div
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.stores.port import CopyRun, FileSlice, Segment
from scenemosaic.stores.s3_parts import CopyPart, plan_parts
from tests.flows.scenes import BLOCK, make_scene


def test_each_price_has_its_requests() -> None:
    asked = Requests(1000, 1000, 5000, 10, 0, 2_000_000, 1, 4_000_000)
    found = cost(asked, 3e9, Prices(1.0, 0.5, 0.25, 0.125, 0.1))
    assert (found.puts, found.gets, found.rows) == (2.0, 2.5, 1.0)
    assert found.month == pytest.approx(0.3)
    assert found.once == 5.5


@pytest.mark.parametrize("said", ["put_1000", "put_1000=x", "tea=1", "put_1000=-1", "gb_month=nan"])
def test_what_is_no_price(said: str) -> None:
    with pytest.raises(InputError, match="price is"):
        prices_of([said])


def test_plan_explains_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = str(make_scene(tmp_path / "scene.tif"))
    given = ["plan", scene, "--explain", "--window", "128", "--block-size", str(BLOCK)]
    assert cli.run([*given, "--json", "--price", "put_1000=0", "--engine", "dask"]) == 0
    value = json.loads(capsys.readouterr().out)["explain"]
    assert (value["windows"], value["requests"]["tile_puts"]) == (12, 12)
    assert value["cost_usd"]["puts"] == 0
    assert value["cost_usd"]["prices"]["gb_month"] == Prices().gb_month
    assert cli.run([*given, "--to", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "at most" in next(line for line in lines if line.startswith("memory "))
    assert f"rows     sqlite:///{tmp_path}/out/manifest.db" in lines
    labels = [line.split()[0] for line in lines]
    assert len(set(labels)) == len(labels), "each thing is said once"
    assert lines[-1] == "nothing was written"
    assert [path.name for path in tmp_path.iterdir()] == ["scene.tif"]


@pytest.mark.parametrize(
    ("ratio", "said"), [("1", "if nothing compresses"), ("0.5", "if blocks shrink to 0.5 of it")]
)
def test_a_tiny_raster_is_said_to_be_tiny(
    ratio: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = str(make_scene(tmp_path / "scene.tif", 14, 22))
    assert cli.run(["plan", scene, "--explain", "--ratio", ratio]) == 0
    out = capsys.readouterr().out
    assert "upload   the mosaic in one PUT\n" in out
    assert f"{said} (--ratio {ratio})" in out


def test_parts_are_those_of_the_store() -> None:
    """A mosaic of 60 windows, whose runs are planned as S3's adapter plans them."""
    grid = Grid("EPSG:32633", (10.0, 0.0, 0.0, 0.0, -10.0, 0.0), 20_000, 12_000)
    recipe = Recipe(grid, "uint16", 3, None, False, 2048)
    tiling = recipe.tiling()
    above = range(tiling.tile_levels + 1, tiling.last_level + 1)
    top = sum(level_raw_bytes(recipe, level) for level in above)
    segments: list[Segment] = [FileSlice("top", 0, top)]
    for level in range(tiling.tile_levels, -1, -1):
        for window in tiling.windows():
            # Those of level 0 are copied one by one.
            rows = ceil_div(window.height, recipe.block_size) if level == 0 else 1
            height, width = (ceil_div(n, 1 << level) for n in (window.height, window.width))
            size_bytes = height * width * 6 // rows
            segments += [CopyRun(window.name, "etag", 0, size_bytes)] * rows
    made, said = plan_parts(segments), mosaic_parts(recipe, 1.0)
    # A run that lends its head to the part before it may become too short itself.
    copied = sum(isinstance(part, CopyPart) for part in made)
    assert 0.95 * said.copied <= copied <= said.copied
    assert abs(len(made) - said.count) <= 3
