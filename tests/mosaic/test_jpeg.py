"""Colours in JPEG are stored as GDAL's COG driver stores them: brightness and two differences."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import rasterio.shutil
from rasterio.enums import ColorInterp

from scenemosaic import job
from scenemosaic.plans.plan import PlanOptions
from tests.mosaic.pictures import levels_of, same
from tests.validators import assert_valid_cog

COLOURS = (ColorInterp.red, ColorInterp.green, ColorInterp.blue)


def scene(path: Path, *, mask: bool) -> Path:
    y, x = np.ogrid[0:512, 0:512]
    waves = [120 + 60 * np.sin(x / 50 + band) * np.cos(y / 70) for band in range(3)]
    noise = np.random.default_rng(1).normal(0, 6, (1, 512, 512))
    with (
        rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True),
        rasterio.open(
            path, "w", driver="GTiff", width=512, height=512, count=3, dtype="uint8",
            photometric="rgb", crs="EPSG:32631", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6),
        ) as dataset,
    ):  # fmt: skip
        dataset.write(np.clip(np.stack(waves) + noise, 0, 255).astype("uint8"))
        if mask:
            dataset.write_mask((x + y) > 200)
    return path


def mosaic(root: Path, source: Path, options: PlanOptions) -> Path:
    spec = job.plan_job([str(source)], str(root), None, options)
    run = job.Run(run_id="run", written_by="test")
    job.prepare(spec)
    job.publish_plan(spec, run)
    job.commit_windows(spec, job.missing_windows(spec), run, None)
    job.assemble(spec, run, None)
    return root / "mosaics" / spec.plan.job_id / "mosaic.tif"


@pytest.mark.parametrize("mask", [False, True], ids=["plain", "mask"])
def test_colours_equal_gdals(tmp_path: Path, mask: bool) -> None:
    source, theirs = scene(tmp_path / "scene.tif", mask=mask), tmp_path / "gdal.tif"
    creation: dict[str, Any] = {"compress": "JPEG", "blocksize": 256, "quality": 80}
    rasterio.shutil.copy(source, theirs, driver="COG", **creation)
    options = PlanOptions(compress="jpeg", level=80, block_size=256, window=512)
    ours = mosaic(tmp_path / "root", source, options)
    pairs = zip(levels_of(ours), levels_of(theirs), strict=True)
    for level, ((a, mask_a), (b, mask_b)) in enumerate(pairs):
        # GDAL's driver takes cubic for its levels, and we average.
        assert level or same(a, b)
        assert level or same(mask_a, mask_b)
    assert ours.stat().st_size < theirs.stat().st_size * 1.1
    with rasterio.open(ours) as dataset:
        assert dataset.tags(ns="IMAGE_STRUCTURE")["COMPRESSION"] == "YCbCr JPEG"
        assert dataset.colorinterp == COLOURS
    assert_valid_cog(ours)
