"""Real scenes, where they are at hand: each is planned as it is, or refused by its reason."""

from pathlib import Path
from typing import Any

import pytest
import rasterio
from rasterio.io import MemoryFile

from scenemosaic.errors import InputError
from scenemosaic.planning import plan_scene
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources.metadata import apply_metadata, differences, metadata_of
from scenemosaic.sources.rasters import read_metadata

# Real files are kept beside a checkout: file, and what its refusal must say (None: planned).
REFUSED: dict[str, str | None] = {
    "band_tags_offset_i16": None,
    "bigendian_jpeg_cog": "no georeferencing",
    "cint16_gcps": "CInt16",
    "dateline_gt180_f64": None,
    "descr_units_compound_f32": "its CRS would change",
    "geos_goes_ycbcr_mask": None,
    "int8_neg128": None,
    "jpeg_ycbcr_mask_u8": None,
    "landsat8_b2_strips_u16": None,
    "mars_hirise": None,
    "mask1bit_u8": "no georeferencing",
    "nan_landsat_lst_f32": None,
    "nbits15_s2_u16": None,
    "nodata_and_nan_f32": None,
    "onebit_palette_fax4": None,
    "onebit_tiled_u8": "no georeferencing",
    "onepixel_f32": None,
    "palette_3gcps_u8": "3 ground control points",
    "palette_nodata255_u8": None,
    "rgba_and_nodata_u8": None,
    "rotated_albers_f32": None,
    "rotated_nocrs_u8": "CRS",
    "rotated_utm11_point_u8": None,
    "rpc_u16": "RPC",
    "s2_14band_nan_f32": None,
    "scale_offset_2band_i16": None,
    "slc_cint16_gcps": "CInt16",
    "southup_alphaearth_64band_i8": None,
    "southup_nan_f32": None,
    "sparse_20480_rgba_webp": None,
    "truncated_f64": "truncated",
    "uint64_256x1": "no georeferencing",
    "zero_strips_unopenable": "zero number of strips",
}
PLANNED = [name for name, reason in REFUSED.items() if reason is None]


def scene(folder: Path, name: str) -> str:
    path = folder / f"{name}.tif"
    if not path.exists():
        pytest.skip(f"no {path.name}")
    return str(path)


@pytest.mark.parametrize("name", [name for name, reason in REFUSED.items() if reason])
def test_it_is_refused_by_its_reason(scenes_dir: Path, name: str) -> None:
    source, reason = scene(scenes_dir, name), REFUSED[name]
    with pytest.raises(InputError) as caught:
        plan_scene([source], PlanOptions())
    text = str(caught.value)
    assert text.startswith(source)
    assert reason is not None
    assert reason in text.removeprefix(source)
    assert "\n" not in text


@pytest.mark.parametrize("name", PLANNED)
def test_it_is_planned_as_it_is(scenes_dir: Path, name: str) -> None:
    source = scene(scenes_dir, name)
    recipe = plan_scene([source], PlanOptions())[0].recipe
    with rasterio.open(source) as dataset:
        assert (recipe.grid.width, recipe.grid.height) == (dataset.width, dataset.height)
        assert recipe.grid.transform == tuple(dataset.transform)[:6]
        assert rasterio.crs.CRS.from_wkt(recipe.grid.crs_wkt) == dataset.crs
        assert (recipe.dtype, recipe.bands) == (dataset.dtypes[0], dataset.count)
        assert repr(recipe.nodata) in (
            repr(dataset.nodata),
            f"{dataset.nodata:g}" if dataset.nodata is not None else "",
        )


@pytest.mark.parametrize("name", PLANNED)
def test_its_metadata_comes_back(scenes_dir: Path, name: str) -> None:
    source = scene(scenes_dir, name)
    metadata, recipe = read_metadata(source), plan_scene([source], PlanOptions())[0].recipe
    profile: dict[str, Any] = {"driver": "GTiff", "width": 16, "height": 16}
    profile |= {"count": recipe.bands} | ({"nbits": recipe.nbits} if recipe.nbits else {})
    place = rasterio.Affine.translation(1, 1)
    with rasterio.Env(GDAL_PAM_ENABLED="NO"), MemoryFile() as memory:
        with memory.open(**profile, dtype=recipe.dtype, transform=place) as dataset:
            apply_metadata(dataset, metadata)
        with memory.open() as dataset:
            back = metadata_of(dataset)
            assert dataset.crs == rasterio.crs.CRS.from_wkt(metadata.crs_wkt)
    assert differences(metadata, back) == []
    assert back.transform == metadata.transform


def test_every_scene_is_in_the_table(scenes_dir: Path) -> None:
    assert {path.stem for path in scenes_dir.glob("*.tif")} <= set(REFUSED)
