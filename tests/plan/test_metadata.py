"""Metadata round-trips through a new GeoTIFF, and what does not is seen."""

import pickle
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from rasterio.enums import ColorInterp
from rasterio.io import MemoryFile

from scenemosaic.errors import InputError
from scenemosaic.image_metadata import SourceMetadata
from scenemosaic.planning import plan_scene
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources.metadata import apply_metadata, differences, metadata_of
from scenemosaic.sources.rasters import read_metadata
from tests.plan.rasters import write_raster

PLACE = rasterio.Affine.translation(1, 1)
XMP = "<x:xmpmeta xmlns:x='adobe:ns:meta/'><a b=\"c=d\">é</a></x:xmpmeta>"


def through_geotiff(metadata: SourceMetadata, dtype: str, **options: Any) -> SourceMetadata:
    count = len(metadata.colorinterp)
    profile: dict[str, Any] = {"driver": "GTiff", "width": 32, "height": 32, "count": count}
    with rasterio.Env(GDAL_PAM_ENABLED="NO"), MemoryFile() as memory:
        with memory.open(**profile, dtype=dtype, transform=PLACE, **options) as dataset:
            apply_metadata(dataset, metadata)
        with memory.open() as dataset:
            return metadata_of(dataset)


@pytest.fixture
def rich(tmp_path: Path) -> str:
    """A raster with everything that invariant 1 lists, colour map apart."""
    source = write_raster(tmp_path / "a.tif", np.ones((3, 8, 8), "int16"), nodata=-5)
    with rasterio.open(source, "r+") as dataset:
        dataset.update_tags(AREA_OR_POINT="Point", TIFFTAG_DATETIME="2020:01:01 00:00:00", k="v=w")
        dataset.update_tags(ns="MINE", a="ü", b="x=y")
        dataset.update_tags(ns="xml:XMP", **dict([XMP.split("=", 1)]))
        dataset.update_tags(2, STATISTICS_MAXIMUM="7", note="two")
        dataset.update_tags(3, ns="MINE", c="3")
        dataset.descriptions = ("red", None, "nir")
        dataset.units = ("m", "", "K")
        dataset.scales = (0.1, 1.0, 2.0)
        dataset.offsets = (0.0, -3.5, 0.0)
        dataset.colorinterp = (ColorInterp.gray, ColorInterp.undefined, ColorInterp.alpha)
    return source


def test_everything_comes_back(rich: str) -> None:
    metadata = read_metadata(rich)
    assert dict(metadata.tags)["xml:XMP"] == (("xml:XMP", XMP),)
    assert dict(metadata.band_tags[1])[""] == (("STATISTICS_MAXIMUM", "7"), ("note", "two"))
    assert metadata.colorinterp == ("gray", "undefined", "alpha")
    assert metadata.units == ("m", "", "K")
    for interleave in ("band", "pixel"):
        back = through_geotiff(metadata, "int16", interleave=interleave)
        assert back == metadata
    assert pickle.loads(pickle.dumps(metadata)) == metadata


def test_point_pixels_do_not_move(rich: str) -> None:
    metadata = read_metadata(rich)
    back = through_geotiff(metadata, "int16")
    assert dict(dict(back.tags)[""])["AREA_OR_POINT"] == "Point"
    assert back.transform == metadata.transform


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_palettes_come_back(tmp_path: Path, dtype: str) -> None:
    source = write_raster(
        tmp_path / "a.tif", np.ones((1, 8, 8), dtype), photometric="PALETTE", nodata=3
    )
    with rasterio.open(source, "r+") as dataset:
        dataset.write_colormap(1, {i: (i, 255 - i, 7, 255) for i in range(256)})
    metadata = read_metadata(source)
    assert metadata.colorinterp == ("palette",)
    assert metadata.colormaps[0] is not None
    assert through_geotiff(metadata, dtype) == metadata


def test_rgb_alpha_and_infrared_come_back(tmp_path: Path) -> None:
    pixels = np.ones((5, 8, 8), "uint16")
    source = write_raster(tmp_path / "a.tif", pixels, photometric="RGB")
    with rasterio.open(source, "r+") as dataset:
        dataset.colorinterp = [
            *(ColorInterp.red, ColorInterp.green, ColorInterp.blue),
            *(ColorInterp.undefined, ColorInterp.alpha),
        ]
    metadata = read_metadata(source)
    assert metadata.colorinterp == ("red", "green", "blue", "undefined", "alpha")
    assert differences(metadata, through_geotiff(metadata, "uint16")) == []


@pytest.mark.parametrize("nodata", [float("nan"), float("inf"), -3.4028234663852886e38])
def test_nodata_comes_back(tmp_path: Path, nodata: float) -> None:
    source = write_raster(tmp_path / "a.tif", np.ones((1, 8, 8), "float32"), nodata=nodata)
    back = through_geotiff(read_metadata(source), "float32")
    assert repr(back.nodata) == repr(nodata)
    assert differences(read_metadata(source), back) == []


_CHANGES: dict[str, Any] = {
    "crs_wkt": rasterio.crs.CRS.from_epsg(32632).to_wkt(),
    "transform": (10.0, 0.0, 500_000.1, 0.0, -10.0, 4_000_000.0),
    "nodata": None,
    "tags": (),
    "band_tags": ((), (), ()),
    "descriptions": ("", "", ""),
    "units": ("", "", ""),
    "scales": (1.0, 1.0, 1.0),
    "offsets": (0.0, 0.0, 0.0),
    "colorinterp": ("red", "green", "blue"),
    "colormaps": ((), None, None),
}


@pytest.mark.parametrize("name", [field.name for field in fields(SourceMetadata)])
def test_each_loss_is_seen_by_name(rich: str, name: str) -> None:
    metadata = read_metadata(rich)
    assert differences(metadata, replace(metadata, **{name: _CHANGES[name]})) == [name]


def test_json_documents_are_refused(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif")
    with rasterio.open(source, "r+") as dataset:
        dataset.update_tags(ns="json:ISIS3", **{"json:ISIS3": '{"a":1}'})
    with pytest.raises(InputError, match=r"a\.tif.*json:ISIS3"):
        plan_scene([source], PlanOptions())


def test_an_empty_tag_is_kept_or_refused(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif")
    with rasterio.open(source, "r+") as dataset:
        dataset.update_tags(empty="", full="x")
    metadata = read_metadata(source)
    assert differences(metadata, through_geotiff(metadata, "uint16")) == []
