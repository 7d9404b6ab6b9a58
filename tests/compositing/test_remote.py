"""Several sources on a web server, and one on a command line: what is asked of whom."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scenemosaic import job
from scenemosaic.errors import SourceReadError
from scenemosaic.planning import survey
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources.rasters import close_sources
from scenemosaic.windows import make_tile
from tests.compositing.scenes import make, mosaic, waves
from tests.flows.serving import run_command
from tests.plan.web import Site, serving

SECRET = "X-Signature=s3cret"
PIXELS = waves(64, 128).astype("uint16")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("web")
    with serving(folder) as url:
        make(folder / "a.tif", PIXELS[:, :, :64], nodata=0)
        make(folder / "b.tif", PIXELS[:, :, 64:], (0, 64), nodata=0)
        yield Site(url, folder)
    close_sources()


def test_signatures_are_no_part_of_the_plan(site: Site) -> None:
    sources = [f"{site.url}/{name}.tif?{SECRET}" for name in "ab"]
    made = mosaic(sources, method="max")
    assert np.array_equal(made.pixels(48), PIXELS)
    assert b"s3cret" not in made.plan.canonical
    assert all("s3cret" in location for location in made.locations)
    assert not any("s3cret" in note for note in made.notes)
    assert mosaic([source.replace("s3", "other") for source in sources], method="max").plan == (
        made.plan
    )


def test_a_source_replaced_on_the_server_fails_the_windows_that_it_touches(
    site: Site, tmp_path: Path
) -> None:
    sources = [f"{site.url}/{name}.tif?{SECRET}" for name in "ab"]
    options = PlanOptions(window=64, block_size=64)
    place = (tmp_path.as_uri(), f"sqlite:///{tmp_path}/manifest.db")
    spec = job.plan_job(sources, *place, options)
    changed = spec.locations[1].replace("b.tif", "a.tif")
    moved = job.JobSpec(spec.plan, (spec.locations[0], changed), *place)
    make_tile(moved, spec.plan.recipe.tiling().window(0))
    with pytest.raises(SourceReadError) as caught:
        make_tile(moved, spec.plan.recipe.tiling().window(1))
    assert "s3cret" not in str(caught.value)


def test_the_command_line_says_grid_and_method(tmp_path: Path) -> None:
    sources = [
        make(tmp_path / "a.tif", PIXELS[:, :, :64], nodata=0),
        make(tmp_path / "b.tif", PIXELS[:, :, 64:], (0, 64), nodata=0),
    ]
    said = ["--crs", "EPSG:32632", "--resolution", "20,40", "--bounds", "-50000,4000000,0,4040000"]
    said += ["--method", "MEAN", "--warp-resampling", "cubic", "--dry-run"]
    arguments = ["process", *sources, "--to", str(tmp_path / "root"), *said]
    answer = run_command([*arguments, "--json"], tmp_path)
    assert answer.code == 0, answer.err
    options = PlanOptions(
        crs="EPSG:32632",
        resolution=(20.0, 40.0),
        bounds=(-50_000.0, 4_000_000.0, 0.0, 4_040_000.0),
        method="mean",
        warp_resampling="cubic",
    )
    plan = survey(sources, options).plan
    assert answer.value()["job_id"] == plan.job_id
    assert plan.recipe.merge is not None
    assert (plan.recipe.merge.method, plan.recipe.merge.warp) == ("mean", "cubic")
    assert not (tmp_path / "root").exists()
