"""Nobody looks for an account where everything is a file: it would take longer than a level."""

import os
from pathlib import Path
from typing import NoReturn

import pytest
from rasterio.session import Session

from scenemosaic import job
from scenemosaic.plans.plan import PlanOptions
from tests.compositing.scenes import make, waves
from tests.jobs.conftest import local_place
from tests.jobs.places import MakePlace

__all__ = ["local_place"]


@pytest.mark.parametrize("crs", [None, "EPSG:32632"])
def test_a_job_on_files_asks_for_no_credentials(
    local_place: MakePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crs: str | None
) -> None:
    def sought(*_: object, **__: object) -> NoReturn:
        raise AssertionError("rasterio looked for an account")

    assert "AWS_ACCESS_KEY_ID" in os.environ
    place, me = local_place(), job.Run("run", "run")
    pixels = waves(64, 96).astype("uint16")
    scenes = [make(tmp_path / f"{n}.tif", pixels, (9 * n, 0), nodata=0) for n in range(2)]
    monkeypatch.setattr(Session, "from_environ", sought)
    options = PlanOptions(window=64, block_size=32, crs=crs, compress="zstd")
    spec = job.plan_job(scenes, place.root, place.manifest, options)
    job.prepare(spec)
    job.publish_plan(spec, me)
    job.commit_windows(spec, job.missing_windows(spec), me)
    assert job.assemble(spec, me).outcome == "written"
