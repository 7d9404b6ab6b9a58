"""What is asked of a source's bands: its header becomes the mosaic's, or is refused by name."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio

from scenemosaic.bandmath.computed import Computed
from scenemosaic.errors import InputError
from scenemosaic.image_metadata import SourceMetadata
from scenemosaic.planning import plan_scene, survey
from scenemosaic.plans.asked_again import options_of
from scenemosaic.plans.plan import Plan, PlanOptions, load_plan
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.sources.computed_bands import described_metadata
from tests.plan.rasters import write_raster

NDVI = "(b2-b1)/(b2+b1)"


@pytest.fixture
def source(tmp_path: Path) -> str:
    """Four bands of uint16 with nodata 0, each with all that a band can say of itself."""
    path = write_raster(tmp_path / "s.tif", np.ones((4, 20, 30), "uint16"), nodata=0)
    with rasterio.open(path, "r+") as dataset:
        dataset.descriptions = ("blue", "green", "red", "nir")
        dataset.units = ("a", "b", "c", "d")
        dataset.scales, dataset.offsets = (1e-4, 2e-4, 3e-4, 4e-4), (-0.1, -0.2, -0.3, -0.4)
        dataset.colorinterp = [
            rasterio.enums.ColorInterp[name] for name in ("blue", "green", "red", "undefined")
        ]
        dataset.update_tags(WHO="me")
        for band in dataset.indexes:
            dataset.update_tags(band, N=str(band), STATISTICS_MEAN="1")
    return path


def plan(source: str, **asked: Any) -> Plan:
    return plan_scene([source], PlanOptions(**asked))[0]


def made(source: str, **asked: Any) -> tuple[Recipe, SourceMetadata]:
    recipe = plan(source, **asked).recipe
    return recipe, described_metadata(source, recipe)


def refused(source: str, **asked: Any) -> str:
    with pytest.raises(InputError) as caught:
        plan(source, **asked)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_plain_job_is_what_it_was(source: str) -> None:
    """Also where band maths is asked for what the source is already."""
    plain = plan(source)
    assert "computed" not in plain.to_json()["recipe"]  # type: ignore[operator]
    for asked in ({"bands": (1, 2, 3, 4)}, {"dtype": "uint16"}, {"nodata": 0.0}):
        assert plan(source, **asked).job_id == plain.job_id


def test_selection_keeps_all_that_is_a_bands_own(source: str) -> None:
    recipe, metadata = made(source, bands=(4, 3, 2))
    assert (recipe.bands, recipe.dtype, recipe.nodata) == (3, "uint16", 0)
    assert recipe.computed == Computed(bands=(4, 3, 2))
    assert metadata.descriptions == ("nir", "red", "green")
    assert metadata.units == ("d", "c", "b")
    assert (metadata.scales, metadata.offsets) == ((4e-4, 3e-4, 2e-4), (-0.4, -0.3, -0.2))
    assert metadata.colorinterp == ("undefined", "red", "green")
    assert dict(metadata.tags)[""] == (("AREA_OR_POINT", "Area"), ("WHO", "me"))
    assert metadata.band_tags[0] == (("", (("N", "4"), ("STATISTICS_MEAN", "1"))),)


def test_an_expression_is_its_bands_description(source: str) -> None:
    recipe, metadata = made(source, expression="( b4-b3 )/(b4+b3); b1*2")
    assert (recipe.bands, recipe.dtype) == (2, "float32")
    assert math.isnan(recipe.nodata or 0)
    assert metadata.descriptions == ("(b4 - b3) / (b4 + b3)", "b1 * 2")
    assert (metadata.units, metadata.scales, metadata.offsets) == (
        ("",) * 2,
        (1.0,) * 2,
        (0.0,) * 2,
    )
    assert metadata.colorinterp == ("gray", "undefined")
    assert metadata.band_tags == ((), ())
    assert ("WHO", "me") in dict(metadata.tags)[""]


def test_scale_and_offset_are_used_up(source: str) -> None:
    recipe, metadata = made(source, unscale=True, bands=(2,))
    assert recipe.dtype == "float32"
    assert recipe.computed == Computed(bands=(2,), unscale=True)
    assert (metadata.scales, metadata.offsets, metadata.units) == ((1.0,), (0.0,), ("b",))
    assert metadata.band_tags == ((("", (("N", "2"),)),),)  # no statistics of other values


def test_one_meaning_has_one_job(source: str) -> None:
    job = plan(source, expression=NDVI).job_id
    for text in ("((b2 - b1)) / (b2 + b1)", "(B2-b1)/(b2+b1),", "\t(b2-b1)/( b2+b1 )\n"):
        assert plan(source, expression=text).job_id == job
    for other in ("(b2-b1)/(b1+b2)", "b2-b1/b2+b1", f"{NDVI}, b1"):
        assert plan(source, expression=other).job_id != job
    assert plan(source, expression=NDVI, unscale=True).job_id != job
    assert plan(source, expression=NDVI, dtype="float64").job_id != job
    assert plan(source, expression=NDVI, nodata=math.nan).job_id == job


@pytest.mark.parametrize(
    "asked",
    [
        {"expression": "b1, b2 ** 2"},
        {"bands": (3, 1)},
        {"unscale": True, "dtype": "float64"},
        {"dtype": "int32", "nodata": -1.0},
        {"expression": "b1 > 3", "dtype": "uint8", "nodata": 255},
    ],
)
def test_a_plan_and_its_options_come_back(source: str, asked: dict[str, Any]) -> None:
    one = plan(source, **asked)
    assert load_plan(one.canonical, one.job_id) == one
    again = plan_scene([source], options_of(one))[0]
    assert again.recipe.to_json() == one.recipe.to_json()


def test_what_stands_for_no_value(source: str, tmp_path: Path) -> None:
    assert made(source, dtype="int32")[0].nodata == 0
    assert repr(made(source, dtype="float32")[0].nodata) == "0.0"
    assert made(source, expression="b1", dtype="int16", nodata=-7)[0].nodata == -7
    says_none = write_raster(tmp_path / "none.tif")
    assert math.isnan(made(says_none, expression=NDVI)[0].nodata or 0)
    assert made(says_none, expression="b1 > 3", dtype="uint8")[0].nodata is None
    assert made(says_none, nodata=0)[0].nodata == 0  # pixels of 0 are declared to be none
    assert made(says_none, bands=(2,))[0].nodata is None


def test_a_mask_stands_for_no_value(tmp_path: Path) -> None:
    path = write_raster(tmp_path / "m.tif", nodata=None)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "r+") as dataset:
        dataset.write_mask(np.full((40, 50), 255, "uint8"))
    recipe, _ = made(path, expression=NDVI)
    assert (recipe.has_mask, recipe.nodata) == (True, None)
    assert made(path, expression="b1", dtype="uint16")[0].has_mask


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"expression": "b1 / b5"}, "s.tif: --expression names b5, and it has 4 bands, b1..b4"),
        ({"bands": (1, 7)}, "s.tif: --bands names b7, and it has 4 bands"),
        ({"bands": (1,), "expression": "b1"}, "give --bands or --expression"),
        ({"bands": (0,)}, "--bands takes numbers from 1"),
        ({"expression": "b1 +"}, "--expression, character 5: 'the end' is not expected there"),
        ({"expression": "1"}, "--expression: '1' names no band"),
        ({"dtype": "uint7"}, "--dtype must be one of int8, uint8"),
        ({"dtype": "complex64"}, "--dtype must be one of int8, uint8"),
        ({"nodata": 70_000}, "--nodata 70000 is not a value of uint16"),
        ({"nodata": 1.5}, "--nodata 1.5 is not a value of uint16"),
        ({"nodata": math.nan}, "--nodata nan is not a value of uint16"),
        ({"nodata": 1e300, "dtype": "float32"}, "--nodata 1e+300 is not a value of float32"),
        ({"expression": "b1", "dtype": "uint8"}, "it has nodata, and uint8 has no value for that"),
        ({"expression": "b1", "compress": "jpeg"}, "jpeg holds uint8 alone"),
    ],
)
def test_it_is_refused(source: str, asked: dict[str, Any], said: str) -> None:
    assert said in refused(source, **asked)


def test_other_sources_are_refused(tmp_path: Path) -> None:
    none = write_raster(tmp_path / "none.tif")
    assert "it says no scale and no offset: leave out --unscale" in refused(none, unscale=True)
    nan = write_raster(tmp_path / "f.tif", np.ones((1, 9, 9), "float32"), nodata=math.nan)
    assert "its nodata nan is not a value of uint8: give another" in refused(nan, dtype="uint8")
    low = np.finfo("float64").min
    far = write_raster(tmp_path / "d.tif", np.ones((1, 9, 9), "float64"), nodata=low)
    assert "is not a value of float32: give another" in refused(far, dtype="float32")
    waves = write_raster(tmp_path / "c.tif", np.ones((2, 9, 9), "complex64"))
    for asked in ({"expression": "b1"}, {"dtype": "float32"}):
        assert "its pixels are complex64" in refused(waves, **asked)
    assert made(waves, bands=(2,))[0].dtype == "complex64"


def test_a_palette_stays_with_its_type(tmp_path: Path) -> None:
    path = write_raster(tmp_path / "p.tif", np.ones((1, 9, 9), "uint8"), photometric="palette")
    with rasterio.open(path, "r+") as dataset:
        dataset.write_colormap(1, {1: (9, 8, 7, 255)})
    assert "its palette belongs to uint8" in refused(path, dtype="uint16")
    recipe, metadata = made(path, nodata=0)
    assert (recipe.resampling, metadata.colorinterp) == ("nearest", ("palette",))
    assert dict(metadata.colormaps[0] or ())[0] == (0, 0, 0, 0)  # nodata is transparent
    assert dict(metadata.colormaps[0] or ())[1] == (9, 8, 7, 255)
    recipe, metadata = made(path, expression="b1 == 1", dtype="uint8", nodata=255)
    assert (recipe.resampling, metadata.colorinterp) == ("average", ("gray",))
    assert metadata.colormaps == (None,)


def test_odd_bits_stay_with_what_is_chosen(tmp_path: Path) -> None:
    path = write_raster(tmp_path / "n.tif", np.ones((2, 9, 9), "uint16"), nbits=12)
    assert made(path, bands=(2,))[0].nbits == 12
    assert made(path, dtype="int32")[0].nbits is None
    assert made(path, expression="b1", dtype="uint16")[0].nbits is None


def test_alpha_that_is_left_out_is_said(tmp_path: Path) -> None:
    path = write_raster(tmp_path / "a.tif", np.ones((4, 9, 9), "uint8"), photometric="rgb")
    with rasterio.open(path, "r+") as dataset:
        dataset.colorinterp = [*dataset.colorinterp[:3], rasterio.enums.ColorInterp.alpha]
    assert made(path, bands=(3, 4))[1].colorinterp == ("blue", "alpha")
    notes = survey([path], PlanOptions(bands=(1, 2, 3))).notes
    assert any("its alpha band b4 is left out" in note for note in notes)
    assert not survey([path], PlanOptions(bands=(1, 2, 3), nodata=0)).notes
    assert "it is transparent in places" in refused(path, expression="b1", dtype="int16")
