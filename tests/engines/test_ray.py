"""The same flow on Ray, as people run it."""

import sys
from pathlib import Path

import pytest
import rasterio

from blocks.mosaic_recipe import RecipeFields
from scenemosaic import job, keys
from tests.engines.marked import MARK, marked
from tests.flows.scenes import BLOCK, WINDOW
from tests.flows.serving import run_command
from tests.recovery.gate import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info >= (3, 14), reason="Ray has no wheels for it"),
]


def test_the_same_job_and_pixels_and_nothing_left(scene: Path, tmp_path: Path, api: str) -> None:
    root = tmp_path / "root"
    given = ["process", str(scene), "--to", str(root), "--json", "--engine", "ray"]
    sizes = ["--window", str(WINDOW), "--block-size", str(BLOCK), "--windows-per-task", "2"]
    mark = {"PREFECT_API_URL": api, MARK: str(tmp_path)}
    answer = run_command([*given, *sizes], tmp_path, mark)
    assert answer.code == 0, answer.err
    value = answer.value()
    assert (value["written"], value["missing"]) == (12, [])
    options = RecipeFields(window=WINDOW, block_size=BLOCK).options()
    spec = job.plan_job([str(scene)], str(root), None, options)
    assert value["job_id"] == spec.plan.job_id
    mosaic = root / keys.mosaic_key(spec.plan.job_id)
    with rasterio.open(scene) as source, rasterio.open(mosaic) as made:
        assert (source.read() == made.read()).all()
    until("no process left", lambda: not marked(tmp_path), give_up_s=60)
