"""Real scenes: on their own grid they stay what they are, and two zones make one picture."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.enums import Resampling
from rasterio.transform import Affine, array_bounds
from rasterio.warp import calculate_default_transform, reproject

from scenemosaic.compositing.described import merged_metadata
from scenemosaic.sources.metadata import differences, metadata_of
from tests.compositing.scenes import make, mosaic

KEPT = (
    "dateline_gt180_f64",
    "geos_goes_ycbcr_mask",
    "int8_neg128",
    "landsat8_b2_strips_u16",
    "mars_hirise",
    "nbits15_s2_u16",
    "nodata_and_nan_f32",
    "palette_nodata255_u8",
    "rgba_and_nodata_u8",
    "rotated_albers_f32",
    "s2_14band_nan_f32",
    "scale_offset_2band_i16",
    "southup_nan_f32",
)


@pytest.mark.parametrize("name", KEPT)
def test_on_its_own_grid_a_scene_stays_what_it_is(scenes_dir: Path, name: str) -> None:
    source = str(scenes_dir / f"{name}.tif")
    made = mosaic([source], method="first")
    pixels, mask = made.read(512)
    with rasterio.open(source) as dataset:
        theirs, shown = dataset.read(), dataset.read_masks() != 0
        assert differences(metadata_of(dataset), merged_metadata(made.plan.recipe)) == []
        if mask is not None:
            assert np.array_equal(mask, dataset.read_masks(1))
    shown &= theirs == theirs
    assert np.array_equal(pixels[shown], theirs[shown])


def test_a_scene_in_two_zones(scenes_dir: Path, tmp_path: Path) -> None:
    """The right half comes from the next zone, where GDAL has put it, and fits the left one."""
    with rasterio.open(scenes_dir / "landsat8_b2_strips_u16.tif") as dataset:
        pixels, lattice, crs = dataset.read(), dataset.transform, dataset.crs
    size = {"size": 30.0, "origin": (lattice.c, lattice.f), "nodata": 0}
    left = make(tmp_path / "left.tif", pixels[:, :, :900], crs=crs, **size)
    right, there = _in_next_zone(pixels[:, :, 600:], lattice * Affine.translation(600, 0))
    other = make(
        tmp_path / "right.tif",
        right,
        size=30.0,
        origin=(there.c, there.f),
        nodata=0,
        crs="EPSG:32632",
    )
    made = mosaic([left, other], warp_resampling="cubic")
    whole = made.pixels()
    assert np.array_equal(made.pixels(512), whole)
    grid = made.plan.recipe.grid
    row = round((grid.transform[5] - lattice.f) / 30)
    col = round((lattice.c - grid.transform[2]) / 30)
    here = whole[0, row : row + 1000, col : col + 1500].astype(float)
    seen = pixels[0, :, :900] != 0
    assert np.array_equal(here[:, :900][seen], pixels[0, :, :900][seen])
    known = (here != 0) & (pixels[0] != 0)
    off = np.abs(here - pixels[0])[known]
    assert off.mean() < 0.02 * pixels[0][known].std()


def _in_next_zone(pixels: np.ndarray, lattice: Affine) -> tuple[np.ndarray, Affine]:
    height, width = pixels.shape[1:]
    bounds = array_bounds(height, width, lattice)
    zones = {"src_crs": "EPSG:32631", "dst_crs": "EPSG:32632"}
    there, across, down = calculate_default_transform(
        zones["src_crs"], zones["dst_crs"], width, height, *bounds, resolution=30
    )
    made = np.zeros((1, down, across), pixels.dtype)
    reproject(
        pixels,
        made,
        src_transform=lattice,
        dst_transform=there,
        src_nodata=0,
        dst_nodata=0,
        resampling=Resampling.cubic,
        **zones,
    )
    return made, there


def test_a_part_of_a_full_disk(scenes_dir: Path) -> None:
    """Its edge has no place on the Earth; what is asked for has."""
    source = str(scenes_dir / "geos_goes_ycbcr_mask.tif")
    made = mosaic([source], crs="EPSG:4326", bounds=(-90, 20, -70, 40), resolution=(0.25,))
    pixels, mask = made.read()
    assert mask is not None
    assert mask.all()
    assert np.array_equal(made.pixels(48), pixels)
