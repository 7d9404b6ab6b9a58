"""Band maths of several sources: each is computed with what it says of itself, then composited."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt
import rasterio

from scenemosaic import job
from scenemosaic.plans.plan import PlanOptions
from tests.mosaic.pictures import same
from tests.plan.rasters import write_raster

SHAPE = (2, 60, 80)


def mosaic(sources: list[str], root: Path, **asked: Any) -> npt.NDArray[Any]:
    options = PlanOptions(window=32, block_size=16, **asked)
    spec = job.plan_job(sources, root.as_uri(), None, options)
    me = job.Run("test", "test")
    job.prepare(spec)
    job.publish_plan(spec, me)
    outcomes = job.commit_windows(spec, job.missing_windows(spec), me).outcomes
    assert [one.error for one in outcomes if one.error] == []
    with rasterio.open(unquote(urlsplit(job.assemble(spec, me).uri).path)) as dataset:
        return np.asarray(dataset.read())


def scene(path: Path, seed: int, nodata: int, **said: Any) -> tuple[str, npt.NDArray[Any]]:
    pixels = np.random.default_rng(seed).integers(1, 9000, SHAPE, np.uint16)
    pixels[:, 10 * seed : 10 * seed + 20, 30:50] = nodata
    source = write_raster(path, pixels, nodata=nodata)
    with rasterio.open(source, "r+") as dataset:
        for name, value in said.items():
            setattr(dataset, name, value)
    return source, pixels


def index(pixels: npt.NDArray[Any], nodata: int) -> npt.NDArray[Any]:
    red, nir = pixels.astype("float64")
    with np.errstate(invalid="ignore"):
        made = ((nir - red) / (nir + red)).astype("float32")
    return np.where((pixels == nodata).any(axis=0), np.float32("nan"), made)


def test_the_greatest_index_of_two_scenes(tmp_path: Path) -> None:
    """Not the index of the greatest bands; and each scene has a nodata of its own."""
    one, pixels_one = scene(tmp_path / "1.tif", 1, 0)
    two, pixels_two = scene(tmp_path / "2.tif", 2, 65535)
    got = mosaic([one, two], tmp_path / "root", expression="(b2-b1)/(b2+b1)", method="max")
    assert same(got[0], np.fmax(index(pixels_one, 0), index(pixels_two, 65535)))


def test_each_scene_has_its_own_offset(tmp_path: Path) -> None:
    """As Sentinel-2 before and after January 2022: the same number means another reflectance."""
    old, pixels_old = scene(tmp_path / "1.tif", 1, 0, scales=(1e-4, 1e-4))
    new, pixels_new = scene(tmp_path / "2.tif", 2, 0, scales=(1e-4, 1e-4), offsets=(-0.1, -0.1))
    got = mosaic([old, new], tmp_path / "root", bands=(1,), unscale=True, method="first")
    first, second = reflectance(pixels_old, 0.0), reflectance(pixels_new, -0.1)
    assert same(got[0], np.where(np.isnan(first), second, first))


def reflectance(pixels: npt.NDArray[Any], offset: float) -> npt.NDArray[Any]:
    scaled = (pixels[0].astype("float64") * 1e-4 + offset).astype("float32")
    return np.where(pixels[0] == 0, np.float32("nan"), scaled)
