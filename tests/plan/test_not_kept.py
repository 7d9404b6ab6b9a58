"""Invariant 1: what rasterio cannot write is refused at plan time, by name."""

from pathlib import Path

import numpy as np
import pytest
import rasterio

from scenemosaic.errors import InputError
from scenemosaic.planning import PlanOptions, plan_scene
from scenemosaic.tiff import ifd
from scenemosaic.tiff.ifd import Tag
from tests.plan.rasters import handmade, write_raster

_GEO_KEYS, _GEO_DOUBLES = 34735, 34736
# Geographic, pixel is area, EPSG:9000 (ITRF2014); the last key is that of an epoch.
_ITRF2014 = (1, 1, 1, 4, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 9000, 5120, _GEO_DOUBLES, 1, 0)


def _refused(source: str) -> str:
    with pytest.raises(InputError) as caught:
        plan_scene([source], PlanOptions())
    return str(caught.value)


def _of_epoch(path: Path, epoch: float) -> str:
    keys = {_GEO_KEYS: Tag.of(ifd.SHORT, _ITRF2014), _GEO_DOUBLES: Tag.of(ifd.DOUBLE, [epoch])}
    return handmade(path, keys)


def test_an_epoch_of_coordinates(tmp_path: Path) -> None:
    source = _of_epoch(tmp_path / "a.tif", 2020.5)
    with rasterio.open(source) as dataset:
        assert dataset.crs.to_epsg() == 9000
    assert "epoch 2020.5, which rasterio does not keep" in _refused(source)
    assert plan_scene([_of_epoch(tmp_path / "b.tif", 0.0)], PlanOptions())


@pytest.mark.parametrize(("written", "read"), [("nX", "ns"), ("bXdx", "bidx")])
@pytest.mark.parametrize("band", [0, 1])
def test_a_tag_with_a_name_of_rasterios_own(
    tmp_path: Path, written: str, read: str, band: int
) -> None:
    path = tmp_path / "a.tif"
    with rasterio.open(write_raster(path), "r+") as dataset:
        dataset.update_tags(band, **{written: "x"})
    names = f'name="{written}"'.encode(), f'name="{read}"'.encode()
    path.write_bytes(path.read_bytes().replace(*names))
    assert f"a tag called {read} cannot be kept" in _refused(str(path))


def test_several_bands_of_which_the_first_has_colours(tmp_path: Path) -> None:
    # White for 0: GDAL reads the first band with a colour map, and writes none beside others.
    pixels = np.ones((3, 20, 20), np.uint8)
    source = write_raster(tmp_path / "a.tif", pixels, photometric="MINISWHITE")
    assert "not kept in a GeoTIFF (band 1: SetColorTable() not supported" in _refused(source)
