"""Sources on one lattice are copied, to the pixel; what none of them covers is nodata or masked."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from rasterio.enums import ColorInterp

from scenemosaic.compositing.boxes import Box
from scenemosaic.compositing.composite import touching
from scenemosaic.compositing.described import merged_metadata
from scenemosaic.plans.plan import load_plan
from tests.compositing.scenes import Pixels, make, mosaic, waves


def test_a_quilt_of_four_is_the_whole(tmp_path: Path) -> None:
    whole = waves(90, 110, 2).astype("uint16")
    corners = [(y, x) for y in (0, 40) for x in (0, 50)]
    sources = [
        make(tmp_path / f"{y}_{x}.tif", whole[:, y : y + 50, x : x + 60], (y, x))
        for y, x in corners
    ]
    made = mosaic(sources)
    grid = made.plan.recipe.grid
    assert (grid.height, grid.width) == (90, 110)
    assert grid.transform == (10.0, 0.0, 500_000.0, 0.0, -10.0, 4_000_000.0)
    assert (made.plan.recipe.nodata, made.plan.recipe.has_mask) == (None, False)
    assert np.array_equal(made.pixels(32), whole)
    assert touching(made.plan, Box(0, 0, 10, 10)) == (0,)
    assert touching(made.plan, Box(45, 0, 46, 110)) == (0, 1, 2, 3)
    assert load_plan(made.plan.canonical, made.plan.job_id) == made.plan


def test_what_none_covers_is_masked_or_nodata(tmp_path: Path) -> None:
    one, two = np.full((1, 20, 20), 7, "uint8"), np.full((1, 20, 20), 9, "uint8")
    sources = [make(tmp_path / "a.tif", one), make(tmp_path / "b.tif", two, (30, 30))]
    made = mosaic(sources)
    pixels, mask = made.read(16)
    assert mask is not None
    assert set(np.unique(pixels[0][mask == 255])) == {7, 9}
    assert (mask == 255).sum() == 800
    assert not pixels[0][mask == 0].any()
    assert any("--nodata" in note for note in made.notes)
    given = mosaic(sources, nodata=0.0)
    assert (given.plan.recipe.nodata, given.plan.recipe.has_mask) == (0, False)
    assert np.array_equal(given.pixels(16), pixels)


def test_each_source_has_its_own_nodata(tmp_path: Path) -> None:
    one, two = np.full((1, 8, 8), 5, "uint8"), np.full((1, 8, 8), 6, "uint8")
    one[0, :4], two[0, 0], two[0, 1] = 0, 255, 0
    sources = [
        make(tmp_path / "a.tif", one, nodata=0),
        make(tmp_path / "b.tif", two, nodata=255),
    ]
    made = mosaic(sources)
    assert made.plan.recipe.nodata == 0
    # A value that happens to be the mosaic's nodata becomes its neighbour: it is one.
    assert made.pixels()[0, :, 0].tolist() == [0, 1, 6, 6, 5, 5, 5, 5]
    (note,) = (note for note in made.notes if "same nodata" in note)
    assert note.endswith("a valid pixel of that value gets the next one, so that it stays valid")


def test_masks_and_alpha_hide(tmp_path: Path) -> None:
    one, two = np.full((1, 8, 8), 5, "uint8"), np.full((1, 8, 8), 6, "uint8")
    masked = make(tmp_path / "a.tif", one)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(masked, "r+") as dataset:
        mask = np.full((8, 8), 255, "uint8")
        mask[:3] = 0
        dataset.write_mask(mask)
    made = mosaic([masked, make(tmp_path / "b.tif", two)])
    assert made.plan.recipe.has_mask
    pixels, shown = made.read()
    assert pixels[0, :, 0].tolist() == [6, 6, 6, 5, 5, 5, 5, 5]
    assert shown is not None
    assert shown.all()


def test_alpha_is_kept(tmp_path: Path) -> None:
    def rgba(value: int, shown: slice) -> Pixels:
        pixels = np.full((4, 6, 6), value, "uint8")
        pixels[3] = 0
        pixels[3, shown] = 200
        return pixels

    kinds = [ColorInterp.red, ColorInterp.green, ColorInterp.blue, ColorInterp.alpha]
    sources = []
    for name, pixels in (("a", rgba(5, slice(0, 2))), ("b", rgba(6, slice(1, 4)))):
        sources.append(make(tmp_path / f"{name}.tif", pixels))
        with rasterio.open(sources[-1], "r+") as dataset:
            dataset.colorinterp = kinds
    made = mosaic(sources)
    pixels = made.pixels()
    assert (made.plan.recipe.nodata, made.plan.recipe.has_mask) == (None, False)
    assert pixels[0, :, 0].tolist() == [5, 5, 6, 6, 0, 0]
    assert pixels[3, :, 0].tolist() == [200, 200, 200, 200, 0, 0]
    assert merged_metadata(made.plan.recipe).colorinterp[3] == "alpha"


@pytest.mark.parametrize("method", ["min", "max", "mean", "median"])
def test_not_a_number_is_no_value(tmp_path: Path, method: str) -> None:
    one, two = np.full((1, 4, 4), 1.5, "float32"), np.full((1, 4, 4), 2.5, "float32")
    one[0, 0], two[0, 0], two[0, 1] = np.nan, np.nan, np.nan
    sources = [make(tmp_path / "a.tif", one), make(tmp_path / "b.tif", two)]
    pixels = mosaic(sources, method=method).pixels()
    assert np.isnan(pixels[0, 0]).all()
    assert (pixels[0, 1] == 1.5).all()
    assert (pixels[0, 2] == {"min": 1.5, "max": 2.5}.get(method, 2.0)).all()


def test_a_single_source_is_cut(tmp_path: Path) -> None:
    pixels = waves(60, 60).astype("float32")
    pixels[0, 20:25, 20:25] = np.nan
    source = make(tmp_path / "a.tif", pixels, nodata=-9999)
    west, north = 500_000 + 155.0, 4_000_000 - 155.0
    made = mosaic([source], bounds=(west, north - 200, west + 200, north))
    grid = made.plan.recipe.grid
    assert (grid.height, grid.width) == (21, 21)
    assert grid.transform[2] == 500_150.0
    # What is not a number is no value, and so becomes the mosaic's nodata.
    expected = np.where(np.isnan(pixels), -9999, pixels)[:, 15:36, 15:36]
    assert np.array_equal(made.pixels(8), expected)


def test_order_decides_where_it_decides_pixels(tmp_path: Path) -> None:
    one = make(tmp_path / "a.tif", np.full((1, 8, 8), 1, "uint8"))
    two = make(tmp_path / "b.tif", np.full((1, 8, 8), 2, "uint8"))
    for method in ("min", "max", "mean", "median", "count"):
        assert mosaic([one, two], method=method).plan == mosaic([two, one], method=method).plan
    assert mosaic([one, two]).plan.job_id != mosaic([two, one]).plan.job_id
    assert mosaic([one, two]).pixels()[0, 0, 0] == 1
    assert mosaic([one, two], method="last").pixels()[0, 0, 0] == 2
    assert mosaic([one, two, one]).plan == mosaic([one, two]).plan


def test_locations_follow_the_plan(tmp_path: Path) -> None:
    sources = [make(tmp_path / f"{n}.tif", np.full((1, 8, 8), n, "uint8")) for n in range(6)]
    made = mosaic(sources, method="max")
    sizes = {location: Path(location).read_bytes() for location in made.locations}
    assert sorted(made.locations) == sources
    for pin, location in zip(made.plan.sources, made.locations, strict=True):
        assert pin.size_bytes == len(sizes[location])
    assert list(made.plan.sources) == sorted(made.plan.sources, key=lambda pin: str(pin.sha256))


def test_counts(tmp_path: Path) -> None:
    one, two = np.full((1, 8, 8), 1.0, "float32"), np.full((1, 8, 8), 2.0, "float32")
    one[0, 0] = np.nan
    sources = [make(tmp_path / "a.tif", one), make(tmp_path / "b.tif", two, (4, 0))]
    made = mosaic(sources, method="count")
    assert made.plan.recipe.dtype == "uint16"
    assert made.pixels()[0, :, 0].tolist() == [0, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1]


def test_the_mosaic_says_what_all_say(tmp_path: Path) -> None:
    def described(name: str, **tags: Any) -> str:
        source = make(tmp_path / f"{name}.tif", waves(8, 8, 2, seed=len(name)).astype("int16"))
        with rasterio.open(source, "r+") as dataset:
            dataset.update_tags(PLATFORM="X-1", AREA_OR_POINT="Point", **tags)
            dataset.update_tags(1, WAVELENGTH="560", STATISTICS_MEAN="7")
            dataset.descriptions = ("green", name)
            dataset.units = ("1", "")
            dataset.scales, dataset.offsets = (0.5, 0.5), (-3.0, 0.0)
        return source

    made = mosaic([described("a", ORBIT="1"), described("bb", ORBIT="2")])
    told = merged_metadata(made.plan.recipe)
    assert dict(told.tags)[""] == (("AREA_OR_POINT", "Point"), ("PLATFORM", "X-1"))
    assert told.band_tags == ((("", (("WAVELENGTH", "560"),)),), ())
    assert told.descriptions == ("green", "")
    assert (told.units, told.scales, told.offsets) == (("1", ""), (0.5, 0.5), (-3.0, 0.0))
    assert any("ORBIT" in note and "descriptions" in note for note in made.notes)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16"])
@pytest.mark.parametrize("end", ["min", "max"])
def test_the_neighbour_of_a_types_last_value_is_one(tmp_path: Path, dtype: str, end: str) -> None:
    """A sensor's fill value is often the type's last, and another source has it as a value."""
    limits = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    last = getattr(limits, end)
    one = make(tmp_path / "a.tif", np.full((1, 8, 8), 1, dtype), nodata=last)
    other = make(tmp_path / "b.tif", np.full((1, 8, 8), last, dtype), (0, 8), nodata=7)
    made = mosaic([one, other])
    assert made.plan.recipe.nodata == last
    value = float(made.pixels()[0, 0, 8])
    assert value != last
    assert value == pytest.approx(float(last), abs=1, rel=1e-6)


def test_types_brought_to_one_keep_each_sources_nodata(tmp_path: Path) -> None:
    one, two = np.full((1, 4, 4), 10, "uint8"), np.full((1, 4, 4), 300, "uint16")
    one[0, :2], two[0, 0], two[0, 1] = 0, 65535, 0
    sources = [
        make(tmp_path / "a.tif", one, nodata=0),
        make(tmp_path / "b.tif", two, nodata=65535),
    ]
    made = mosaic(sources, dtype="uint16")
    assert (made.plan.recipe.dtype, made.plan.recipe.nodata) == ("uint16", 0)
    assert made.pixels()[0, :, 0].tolist() == [0, 1, 10, 10]


def test_bands_are_computed_of_each_source_before_it_is_merged(tmp_path: Path) -> None:
    """The greatest index, not the index of the greatest values."""
    one, two = np.full((2, 4, 4), 10, "uint8"), np.full((2, 4, 4), 200, "uint8")
    one[0], two[0, 0] = 30, 255
    sources = [
        make(tmp_path / "a.tif", one, nodata=0),
        make(tmp_path / "b.tif", two, nodata=255),
    ]
    made = mosaic(sources, expression="(b1-b2)/(b1+b2)", method="max")
    assert made.plan.recipe.dtype == "float32"
    assert np.array_equal(made.pixels(16), np.full((1, 4, 4), 0.5, "float32"))
    counted = mosaic(sources, expression="(b1-b2)/(b1+b2)", method="count")
    assert counted.pixels()[0, :, 0].tolist() == [1, 2, 2, 2]
