"""Invariants 1, 2, 3 and 7 through the whole engine: a file in, a mosaic out, on a local root."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
import rasterio

from scenemosaic.errors import InputError
from scenemosaic.planning import PlanOptions, plan_scene
from scenemosaic.sources.metadata import differences, metadata_of
from tests.jobs.places import MakePlace
from tests.jobs.run_job import run
from tests.lengths import length
from tests.mosaic.pictures import gdal_cog, levels_of, same
from tests.validators import assert_valid_cog

WINDOWS = (512, 1024, 2048)
PERIOD = 1500  # in which no window fits whole times


def _mosaic(source: Path, place: Any, window: int) -> Path:
    result = run(str(source), place.root, place.manifest, window, "test")
    return Path(unquote(urlsplit(result["mosaic"]).path))


def _assert_equals_source(mosaic: Path, source: Path) -> None:
    with rasterio.open(mosaic) as ours, rasterio.open(source) as theirs:
        assert same(ours.read(), theirs.read())
        assert same(ours.dataset_mask(), theirs.dataset_mask())
        assert differences(metadata_of(theirs), metadata_of(ours)) == []


def _check_windows(source: Path, make_place: MakePlace) -> list[Any]:
    """The mosaic is the source and valid, and its levels are the same for all windows."""
    place, mosaics = make_place(), []
    for window in WINDOWS:
        path = _mosaic(source, place, window)
        _assert_equals_source(path, source)
        mosaics.append(levels_of(path))
    assert_valid_cog(path)
    for levels in mosaics[1:]:
        assert len(levels) == len(mosaics[0])
        for (a, mask_a), (b, mask_b) in zip(levels, mosaics[0], strict=True):
            assert same(a, b)
            assert same(mask_a, mask_b)
    return mosaics[0]


def test_real_landsat_strips(scenes_dir: Path, local_place: MakePlace) -> None:
    _check_windows(scenes_dir / "landsat8_b2_strips_u16.tif", local_place)


@pytest.mark.parametrize("size", [(1000, 777), (1, 1), (513, 5000), (5000, 513)])
def test_sizes_that_divide_by_nothing(
    size: tuple[int, int], new_scene: Callable[..., Path], local_place: MakePlace
) -> None:
    _check_windows(new_scene(*size), local_place)


def test_sparse_float32_with_nan(tmp_path: Path, local_place: MakePlace) -> None:
    source = tmp_path / "sparse.tif"
    with rasterio.open(
        source, "w", driver="GTiff", height=3000, width=4000, count=1, dtype="float32",
        nodata=np.nan, crs="EPSG:4326", transform=rasterio.Affine(0.01, 0, 5, 0, -0.01, 50),
        tiled=True, sparse_ok=True,
    ) as dataset:  # fmt: skip
        part = np.random.default_rng(0).normal(size=(1, 300, 400)).astype(np.float32)
        dataset.write(part, window=rasterio.windows.Window(1500, 1200, 400, 300))
    levels = _check_windows(source, local_place)
    assert np.isnan(levels[0][0]).mean() > 0.98
    assert np.isnan(levels[-1][0]).any()


def test_three_bands_equal_gdal_at_every_level(
    new_scene: Callable[..., Path], local_place: MakePlace, tmp_path: Path
) -> None:
    source = _enlarged(new_scene(PERIOD, PERIOD, 3), length(4096, 8192))
    mosaic = _mosaic(source, local_place(), 2048)
    assert_valid_cog(mosaic)
    with rasterio.open(source) as dataset:
        pixels = dataset.read()
    theirs = gdal_cog(
        tmp_path / "gdal.tif", pixels, resampling="average", block_size=512, nodata=0, mask=None,
        compress="NONE",
    )  # fmt: skip
    with rasterio.open(mosaic) as ours:
        assert same(ours.read(), pixels)
        count = len(ours.overviews(1))
    assert count == length(3, 4)
    for level in range(count):
        with (
            rasterio.open(mosaic, overview_level=level) as a,
            rasterio.open(theirs, overview_level=level) as b,
        ):
            assert same(a.read(), b.read()), f"overview {level}"


def _enlarged(small: Path, size: int) -> Path:
    """The scene again and again, so that no two windows are the same; in no time."""
    with rasterio.open(small) as dataset:
        times, profile = -(-size // PERIOD), dataset.profile
        pixels = np.tile(dataset.read(), (1, times, times))[:, :size, :size]
    path = small.with_name("large.tif")
    profile.update(height=size, width=size, compress=None)
    with rasterio.open(path, "w", **profile) as dataset:
        dataset.write(pixels)
    return path


def test_every_real_scene_is_kept_to_the_pixel_or_refused(
    scenes_dir: Path, local_place: MakePlace
) -> None:
    place, kept, refused = local_place(), [], []
    for source in sorted(scenes_dir.glob("*.tif")):
        if source.name.startswith("sparse_20480"):
            continue
        reason = _refusal(source)
        if reason is not None:
            assert source.name in reason
            refused.append(source.name)
            continue
        mosaic = _mosaic(source, place, 1024)
        _assert_equals_source(mosaic, source)
        assert_valid_cog(mosaic)
        kept.append(source.name)
    assert len(kept) >= 17, (kept, refused)


def _refusal(source: Path) -> str | None:
    """What planning says against a source, None where it takes it."""
    try:
        plan_scene([str(source)], PlanOptions())
    except InputError as error:
        return str(error)
    return None
