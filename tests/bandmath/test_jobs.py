"""Band maths through the whole engine: a scene in, a mosaic of an index out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt
import pytest
import rasterio

from flows.scenes.preparing import prepare_job
from scenemosaic import job, keys
from scenemosaic.errors import InputError
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.repair import restore_plan
from tests.mosaic.pictures import levels_of, same
from tests.plan.rasters import write_raster
from tests.validators import assert_valid_cog

Make = Callable[..., Path]


@pytest.fixture
def mosaic(tmp_path: Path) -> Make:
    """Makes the mosaic of a source below a root of this test."""

    def make(source: str | Path, **asked: Any) -> Path:
        options = PlanOptions(**{"window": 64, "block_size": 16} | asked)
        spec = job.plan_job([str(source)], (tmp_path / "root").as_uri(), None, options)
        me = job.Run("test", "test")
        job.prepare(spec)
        job.publish_plan(spec, me)
        outcomes = job.commit_windows(spec, job.missing_windows(spec), me).outcomes
        assert [one.error for one in outcomes if one.error] == []
        return Path(unquote(urlsplit(job.assemble(spec, me).uri).path))

    return make


def scene(path: Path) -> tuple[str, npt.NDArray[Any]]:
    """Red and near infrared of uint16 with nodata 0, unsigned differences and zeros among them."""
    rng = np.random.default_rng(7)
    pixels = rng.integers(1, 10_000, (2, 150, 170), np.uint16)
    pixels[:, 30:60, :40] = 0
    pixels[1, 100:, 100:] = 0
    return write_raster(path, pixels, nodata=0, tiled=True, blockxsize=16, blockysize=16), pixels


def ndvi(red: npt.NDArray[Any], nir: npt.NDArray[Any]) -> npt.NDArray[Any]:
    with np.errstate(all="ignore"):
        index = (nir - red) / (nir + red)
    return np.where((red == 0) | (nir == 0), np.nan, index).astype("float32")


def test_ndvi_of_a_scene_whatever_the_windows(tmp_path: Path, mosaic: Make) -> None:
    source, pixels = scene(tmp_path / "s.tif")
    made = [mosaic(source, expression="(b2-b1)/(b2+b1)", window=size) for size in (32, 64, 256)]
    with rasterio.open(made[0]) as dataset:
        assert same(dataset.read(1), ndvi(*pixels.astype("float64")))
        assert np.isnan(dataset.nodata)
        assert dataset.descriptions == ("(b2 - b1) / (b2 + b1)",)
    for other in made[1:]:
        for (a, mask_a), (b, mask_b) in zip(levels_of(made[0]), levels_of(other), strict=True):
            assert same(a, b)
            assert same(mask_a, mask_b)
    assert_valid_cog(made[1])


def test_ndvi_of_a_real_scene(scenes_dir: Path, mosaic: Make) -> None:
    source = scenes_dir / "s2_14band_nan_f32.tif"
    if not source.exists():
        pytest.skip("no such scene")
    with rasterio.open(source) as dataset:
        red, nir = dataset.read([4, 8]).astype("float64")
    with np.errstate(all="ignore"):
        plain = ((nir - red) / (nir + red)).astype("float32")
    with rasterio.open(mosaic(source, expression="(b8-b4)/(b8+b4), b12")) as made:
        assert same(made.read(1), np.where(np.isfinite(plain), plain, np.float32("nan")))


def test_real_scale_and_offset(scenes_dir: Path, mosaic: Make) -> None:
    source = scenes_dir / "scale_offset_2band_i16.tif"
    if not source.exists():
        pytest.skip("no such scene")
    with rasterio.open(source) as dataset:
        (raw,), scale, offset = dataset.read([2]), dataset.scales[1], dataset.offsets[1]
    with rasterio.open(mosaic(source, bands=(2,), unscale=True)) as made:
        assert (made.scales, made.offsets) == ((1.0,), (0.0,))
        expected = (raw.astype("float64") * scale + offset).astype("float32")
        assert same(made.read(1), np.where(raw == 0, np.float32("nan"), expected))


def test_bands_are_chosen_and_cast(tmp_path: Path, mosaic: Make) -> None:
    source, pixels = scene(tmp_path / "s.tif")
    with rasterio.open(mosaic(source, bands=(2, 1), dtype="int32", nodata=-1)) as made:
        assert (made.dtypes, made.nodata) == (("int32", "int32"), -1)
        assert same(made.read(), np.where(pixels[::-1] == 0, -1, pixels[::-1].astype("int32")))


def test_a_mask_says_what_has_no_value(tmp_path: Path, mosaic: Make) -> None:
    pixels = np.arange(2 * 40 * 50, dtype="float32").reshape(2, 40, 50) - 100
    path, mask = write_raster(tmp_path / "m.tif", pixels), np.full((40, 50), 255, "uint8")
    mask[10:, 20:] = 0
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "r+") as dataset:
        dataset.write_mask(mask)
    with rasterio.open(mosaic(path, expression="sqrt(b1)")) as made:
        shown = (mask != 0) & (pixels[0] >= 0)
        assert same(made.read_masks(1), np.where(shown, 255, 0).astype("uint8"))
        root = np.sqrt(np.where(shown, pixels[0], 0).astype("float64")).astype("float32")
        assert same(made.read(1), root)


def test_a_window_whose_result_does_not_fit_fails_by_name(tmp_path: Path) -> None:
    source, pixels = scene(tmp_path / "s.tif")
    options = PlanOptions(expression="b1 * 4", dtype="int16", nodata=-1, window=64, block_size=16)
    spec = job.plan_job([source], (tmp_path / "root").as_uri(), None, options)
    me = job.Run("test", "test")
    job.prepare(spec)
    job.publish_plan(spec, me)
    result = job.commit_windows(spec, [0, 8], me)
    assert [one.outcome for one in result.outcomes] == ["failed", "failed"]
    most = int(pixels[0, :64, :64].max()) * 4
    assert result.outcomes[0].error == (
        f"{source}: window 0000_0000: band 1: the value {most:g} is not one of int16 "
        "(-32768..32767)"
    )


def test_a_lost_plan_of_band_maths_comes_back_as_it_is_told(tmp_path: Path) -> None:
    """No tile shows the expression; before there is an item, whoever asked for it knows it."""
    source, _ = scene(tmp_path / "s.tif")
    root = (tmp_path / "root").as_uri()
    options = PlanOptions(expression="b1 / b2", window=64, block_size=16)
    spec = job.plan_job([source], root, None, options)
    me = job.Run("test", "test")
    prepare_job(spec, me, print)
    job.commit_windows(spec, [0], me)
    plan = tmp_path / "root" / keys.plan_key(spec.plan.job_id)
    before = plan.read_bytes()
    plan.unlink()
    with pytest.raises(InputError, match="process the same sources again with the same options"):
        restore_plan.load(spec.plan.job_id, spec.place, [source], me)
    prepare_job(job.plan_job([source], root, None, options), me, print)  # as process does
    assert plan.read_bytes() == before
    plan.write_bytes(b"{}")  # over which a run does not write
    with pytest.raises(InputError, match="planned again from what is left") as caught:
        restore_plan.load(spec.plan.job_id, spec.place, [source], me)
    assert "process" not in str(caught.value)
