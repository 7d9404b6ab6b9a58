"""Rare headers, each refused by name: made by GDAL where it can, by hand where it cannot."""

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from rasterio.enums import MaskFlags

from scenemosaic.errors import InputError
from scenemosaic.planning import plan_scene, survey
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources import header_checks
from scenemosaic.tiff import ifd
from scenemosaic.tiff.ifd import Tag
from tests.plan.rasters import handmade, write_raster

BYTES = np.ones((1, 70, 70), "uint8")
KROVAK = (
    "+proj=krovak +lat_0=49.5 +lon_0=24.8333333333333 +alpha=30.2881397222222 +k=0.9999 "
    "+ellps=bessel"
)


def refused(source: str) -> str:
    with pytest.raises(InputError) as caught:
        plan_scene([source], PlanOptions())
    text = str(caught.value)
    assert text.startswith(f"{source}: ")
    assert "\n" not in text
    return text


def test_a_raster_of_two_files(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.img", BYTES, driver="HFA", USE_SPILL="YES")
    assert "a.ige), and a pin covers one" in refused(source)


def test_nodata_as_a_tuple_over_all_bands(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif")
    with rasterio.open(source, "r+") as dataset:
        dataset.update_tags(NODATA_VALUES="0 0 0")
    assert "NODATA_VALUES" in refused(source)


def test_a_transform_without_area(tmp_path: Path) -> None:
    flat = rasterio.Affine(10, 0, 5e5, 0, 0, 4e6)
    assert "has no area" in refused(write_raster(tmp_path / "a.tif", transform=flat))
    scale = {33550: Tag.of(ifd.DOUBLE, [math.nan, 10, 0])}
    assert "has no area" in refused(handmade(tmp_path / "b.tif", scale))


def test_a_crs_that_a_geotiff_does_not_hold(tmp_path: Path) -> None:
    crs = rasterio.crs.CRS.from_proj4(KROVAK)
    source = write_raster(tmp_path / "a.img", BYTES, driver="HFA", crs=crs)
    assert "its CRS would change in a GeoTIFF" in refused(source)


def test_a_palette_that_a_geotiff_does_not_hold(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.img", BYTES, driver="HFA")
    with rasterio.open(source, "r+") as dataset:
        dataset.write_colormap(1, {0: (1, 2, 3, 255), 1: (4, 5, 6, 128)})
    assert "its colour map would change in a GeoTIFF" in refused(source)


def test_a_mask_of_more_than_one_bit(tmp_path: Path) -> None:
    source, image = tmp_path / "a.tif", tmp_path / "image.tif"
    start, data = ifd_of(handmade(image, {}))
    mask = start | {254: Tag.of(ifd.LONG, [4]), 262: Tag.of(ifd.SHORT, [4])}
    end = 8 + len(data)
    head = struct.pack("<2sHI", b"II", 42, end)
    source.write_bytes(head + data + ifd.write([start, mask], end, big=False))
    assert "its mask has 8 bits, and only masks of one bit" in refused(str(source))


def ifd_of(path: str) -> tuple[dict[int, Tag], bytes]:
    """The directory of a TIFF, and what lies in front of it."""
    whole = Path(path).read_bytes()
    (directory,) = ifd.parse(whole)
    return dict(directory), whole[8 : struct.unpack("<I", whole[4:8])[0]]


class Told:
    """A dataset that says something else of itself."""

    def __init__(self, dataset: Any, said: dict[str, Any]) -> None:
        self._dataset = dataset
        self.__dict__ |= said

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"dtypes": ("uint8", "uint16")}, "different types (uint16, uint8)"),
        ({"nodatavals": (0.0, 255.0)}, "different nodata (0.0, 255.0)"),
        ({"mask_flag_enums": ([MaskFlags.per_dataset], [])}, "masks of their own"),
        (
            {"mask_flag_enums": ([MaskFlags.per_dataset], [MaskFlags.all_valid])},
            "some of its bands are masked",
        ),
        ({"dtypes": ("float16", "float16")}, "pixels of type float16 are not read"),
    ],
)
def test_bands_that_differ(said: dict[str, Any], reason: str, tmp_path: Path) -> None:
    """No driver that is read here writes such files, and others may: GDAL's own model has them."""
    source = write_raster(tmp_path / "a.tif", np.ones((2, 9, 9), "uint8"))
    with rasterio.open(source) as dataset, pytest.raises(InputError) as caught:
        header_checks.check_header(Told(dataset, said), [])  # type: ignore[arg-type]
    assert reason in str(caught.value)


def test_strips_are_no_news_since_they_are_read_once(tmp_path: Path) -> None:
    pixels = np.ones((1, 600, 700), "uint8")
    source = write_raster(tmp_path / "a.tif", pixels, blockysize=2)
    assert survey([source], PlanOptions(window=256, block_size=256)).notes == ()


def test_one_bit_is_said_as_one(tmp_path: Path) -> None:
    source = write_raster(tmp_path / "a.tif", BYTES, nbits=1)
    assert any(
        "samples are of 1 bit and stay so" in note for note in survey([source], PlanOptions()).notes
    )
