"""A lost plan whose options no tile shows: the item of the finished job does."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio

from scenemosaic import job, keys
from scenemosaic.errors import InputError
from scenemosaic.planning import PlanOptions
from scenemosaic.repair import restore_plan
from scenemosaic.repair.item_options import options_of
from tests.compositing.scenes import make, waves
from tests.jobs.places import MakePlace
from tests.repair.made import MAKER, REPAIRER, Made

NDVI = "(b2 - b1) / (b2 + b1), where(b1 > 2000, 1, 0)"


@pytest.fixture
def sources(tmp_path: Path) -> list[str]:
    """Two bands that overlap, the second one half a pixel off; with scales."""
    made = []
    for number, at in enumerate([(0.0, 0.0), (20.5, 20.5)]):
        pixels = waves(48, 48, 2, seed=number).astype(np.uint16)
        made.append(make(tmp_path / f"{number}.tif", pixels, at, nodata=0))
        with rasterio.open(made[-1], "r+") as dataset:
            dataset.scales = (0.5, 0.5)
    return made


@pytest.mark.parametrize(
    ("count", "asked"),
    [
        (1, {"expression": NDVI}),
        (1, {"expression": "b1 + b2", "dtype": "int32", "nodata": -1, "unscale": True}),
        (1, {"bands": (2, 1)}),
        (1, {"dtype": "float64"}),
        (1, {"bounds": (500_105.0, 3_999_700.0, 500_355.0, 3_999_905.0)}),
        (2, {"method": "max", "warp_resampling": "cubic"}),
        (2, {"method": "count"}),
        (2, {"method": "mean", "crs": "EPSG:4326", "expression": "b1 / b2"}),
        (2, {"resolution": (7.0, 9.0), "warp_resampling": "nearest", "bands": (2,)}),
    ],
)
def test_the_plan_comes_back_to_the_letter(
    local_place: MakePlace, sources: list[str], count: int, asked: dict[str, Any]
) -> None:
    place, given = local_place(), sources[:count]
    options = PlanOptions(**asked, window=64, block_size=64, title="Harz")
    spec = job.plan_job(given, place.root, place.manifest, options)
    job.prepare(spec)
    job.publish_plan(spec, MAKER)
    job.commit_windows(spec, job.missing_windows(spec), MAKER)
    job.assemble(spec, MAKER)
    made = Made(place, spec, Path(given[0]))
    before = made.read(keys.plan_key(made.job_id))
    made.delete(keys.plan_key(made.job_id))
    found = restore_plan.load(made.job_id, spec.place, given, REPAIRER)
    assert (found[0].plan, found[1]) == (spec.plan, True)
    assert made.read(keys.plan_key(made.job_id)) == before


def test_an_item_without_what_it_needs_is_refused() -> None:
    item = {
        "properties": {
            "scenemosaic:datetime_source": "unknown",
            "datetime": None,
            "processing:expression": {"expression": "b1"},
        }
    }
    with pytest.raises(InputError, match="does not say how"):
        options_of(item, PlanOptions())
