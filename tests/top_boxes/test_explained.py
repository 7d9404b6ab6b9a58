"""``plan --explain`` says how many boxes there are."""

from pathlib import Path

import pytest

from flows.engines.limits import Limits
from flows.texts.explain import as_json, as_text
from scenemosaic import job
from scenemosaic.explain.cost import Prices
from scenemosaic.explain.memory import box_bytes
from scenemosaic.explain.mosaic_parts import mosaic_parts
from scenemosaic.explain.work import requests
from scenemosaic.job import PlanOptions
from scenemosaic.mosaic import top_boxes as which
from tests.flows.scenes import BLOCK, WINDOW, make_scene

BOXES = 4


def test_boxes_are_explained_where_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = make_scene(tmp_path / "scene.tif")
    options = PlanOptions(window=WINDOW, block_size=BLOCK)
    spec = job.plan_job([str(scene)], str(tmp_path / "root"), None, options)
    given = (spec, Limits(1), 0.5, Prices())
    level_2 = 125 * 75 * 2 * 2  # two bands of two bytes
    assert as_json(*given)["top_boxes"] == {"count": BOXES, "bytes": level_2 // 2}
    assert f"boxes    {BOXES} of the mosaic's top levels" in as_text(*given)
    assert box_bytes(spec.plan.recipe) == 5 * 64**2 * 2 * 2
    asked = requests(spec.plan, spec.root, 0.5)
    monkeypatch.setattr(which, "FROM_WINDOWS", 4096)
    plain = requests(spec.plan, spec.root, 0.5)
    assert asked.other_puts - plain.other_puts == BOXES + 1
    # Without boxes each tile is read once, with the runs of it that are sent.
    sent = mosaic_parts(spec.plan.recipe, 0.5).gathered_runs
    assert asked.gets - plain.gets == 4 * BOXES + sent
    assert asked.read_units - plain.read_units == 12
    assert as_json(*given)["top_boxes"] == {"count": 0, "bytes": 0}
    assert "boxes" not in as_text(*given)
    assert box_bytes(spec.plan.recipe) == 0
