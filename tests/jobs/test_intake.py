"""Real users' rasters, made small: each comes through the engine as it is, or its window fails.

What planning refuses is in tests/plan; docs/scenes.md lists every trap with its test.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
import rasterio
from rasterio.enums import ColorInterp

from scenemosaic import job, keys
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources import computed_bands as source_bands
from scenemosaic.sources.metadata import differences, metadata_of
from tests.flows.scenes import make_scene, spoil_block
from tests.jobs.places import MakePlace, Place
from tests.mosaic.pictures import levels_of, noise, same
from tests.plan.rasters import write_raster
from tests.validators import assert_valid_cog

ME = job.Run("test", "test")
SHAPE = (2, 70, 90)
Dress = Callable[[Any], None]


def _nothing(dataset: Any) -> None:
    pass


def _values(dataset: Any) -> None:
    dataset.scales, dataset.offsets = (1e-4, 0.5), (-0.1, 273.15)
    dataset.units, dataset.descriptions = ("1", "K"), ("reflectance", "temperature")
    dataset.update_tags(AREA_OR_POINT="Point", WHO="me")
    dataset.update_tags(2, STATISTICS_MEAN="3")


def _infrared(dataset: Any) -> None:
    """Four bands of which the last is no alpha: GDAL's default for such a file."""
    dataset.colorinterp = [
        *(ColorInterp[name] for name in ("red", "green", "blue")),
        ColorInterp(0),
    ]


def _mask(dataset: Any) -> None:
    hidden = np.zeros(SHAPE[1:], bool)
    hidden[20:50, 10:80] = True
    dataset.write_mask(~hidden)


def _palette(dataset: Any) -> None:
    dataset.write_colormap(1, {n: (n, 255 - n, 7, 255) for n in range(256)})


def _floats(*odd: float) -> Any:
    pixels = noise("float32", SHAPE)
    for number, value in enumerate(odd):
        pixels[:, number::9, number::7] = value
    return pixels


KEPT: dict[str, tuple[Any, dict[str, Any], Dress]] = {
    "south-up": (noise("int16", SHAPE), {"transform": (10, 0, 5e5, 0, 10, 4e6)}, _nothing),
    "rotated": (noise("int16", SHAPE), {"transform": (7, 3, 5e5, 2, -9, 4e6)}, _nothing),
    "beyond 180 degrees": (
        noise("int16", SHAPE),
        {"crs": "EPSG:4326", "transform": (0.1, 0, 178, 0, -0.1, 10)},
        _nothing,
    ),
    "longitudes of 0 to 360": (
        noise("int16", SHAPE),
        {"crs": "EPSG:4326", "transform": (4, 0, 0, 0, -2, 70)},
        _nothing,
    ),
    "scales, offsets, units, points": (noise("int16", SHAPE), {"nodata": -1}, _values),
    "nodata NaN beside infinities": (
        _floats(math.nan, math.inf, -math.inf),
        {"nodata": math.nan},
        _nothing,
    ),
    "nodata infinite": (_floats(math.nan, -math.inf), {"nodata": -math.inf}, _nothing),
    "NaN that is not its nodata": (_floats(math.nan, -9999.0), {"nodata": -9999.0}, _nothing),
    "nodata of the type's least": (
        _floats(float(np.finfo("float32").min)),
        {"nodata": float(np.finfo("float32").min)},
        _nothing,
    ),
    "signed bytes": (noise("int8", SHAPE), {"nodata": -128}, _nothing),
    "64-bit integers": (noise("int64", SHAPE) * 2**40 + 1, {"nodata": -(2**53)}, _nothing),
    "complex floats": (noise("complex64", SHAPE), {}, _nothing),
    "infrared as a fourth band": (
        noise("uint8", (4, 70, 90)),
        {"photometric": "RGB", "ALPHA": "NO"},
        _infrared,
    ),
    "alpha": (noise("uint8", (4, 70, 90)), {"photometric": "RGB", "ALPHA": "YES"}, _nothing),
    "a palette": (noise("uint8", (1, 70, 90)), {"photometric": "PALETTE"}, _palette),
    "an internal mask": (noise("uint16", SHAPE), {}, _mask),
    "12 bits": (noise("uint16", SHAPE) % 4096, {"nbits": 12}, _nothing),
    "one strip": (
        noise("uint16", SHAPE),
        {"blockysize": 70, "compress": "deflate", "interleave": "pixel"},
        _nothing,
    ),
    "strips of three rows": (
        noise("uint16", SHAPE),
        {"blockysize": 3, "compress": "lzw"},
        _nothing,
    ),
    "big-endian": (noise("float32", SHAPE), {"ENDIANNESS": "BIG"}, _nothing),
    "sparse": (noise("uint16", SHAPE) * 0, {"tiled": True, "SPARSE_OK": True}, _nothing),
    "one pixel": (noise("float64", (1, 1, 1)), {}, _nothing),
    "one row": (noise("uint16", (1, 1, 200)), {}, _nothing),
}


def _source(path: Path, name: str) -> str:
    pixels, options, dress = KEPT[name]
    options = dict(options)
    if "transform" in options:
        options["transform"] = rasterio.Affine(*options["transform"])
    if "blockxsize" not in options and options.get("tiled"):
        options |= {"blockxsize": 16, "blockysize": 16}
    source = write_raster(path, pixels, **options)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(source, "r+") as dataset:
        dress(dataset)
    return source


def _planned(source: str, place: Place, **asked: Any) -> job.JobSpec:
    options = PlanOptions(**{"window": 32, "block_size": 16} | asked)
    spec = job.plan_job([source], place.root, place.manifest, options)
    job.prepare(spec)
    job.publish_plan(spec, ME)
    return spec


@pytest.mark.parametrize("name", KEPT)
def test_it_comes_through_as_it_is(name: str, tmp_path: Path, local_place: MakePlace) -> None:
    """Invariant 1, and 2 for windows of two sizes, without any scene of others."""
    source, place, mosaics = _source(tmp_path / "s.tif", name), local_place(), []
    for window in (32, 64):
        spec = _planned(source, place, window=window)
        job.commit_windows(spec, job.missing_windows(spec), ME)
        mosaics.append(Path(unquote(urlsplit(job.assemble(spec, ME).uri).path)))
    with rasterio.open(mosaics[0]) as ours, rasterio.open(source) as theirs:
        assert same(ours.read(), theirs.read())
        for band in ours.indexes:
            assert same(ours.read_masks(band), theirs.read_masks(band))
        assert ours.dtypes == theirs.dtypes
        assert differences(metadata_of(theirs), metadata_of(ours)) == []
    for (a, mask_a), (b, mask_b) in zip(*map(levels_of, mosaics), strict=True):
        assert same(a, b)
        assert same(mask_a, mask_b)
    assert_valid_cog(mosaics[0])


def test_a_corrupt_block_fails_its_windows_alone(tmp_path: Path, local_place: MakePlace) -> None:
    source = make_scene(tmp_path / "s.tif", 256, 192)  # blocks of 64
    spoil_block(source, 1, 2)
    spec = _planned(str(source), local_place(), window=64, block_size=64)
    outcomes = job.commit_windows(spec, job.missing_windows(spec), ME).outcomes
    failed = [one for one in outcomes if one.outcome == "failed"]
    assert [one.window for one in failed] == ["0001_0002"]
    assert str(source) in str(failed[0].error)
    assert "the same command reads the same file" in str(failed[0].remedy)
    assert len(outcomes) == 12
    assert tuple(job.missing_windows(spec)) == (6,)


@pytest.mark.parametrize("when", ["before", "while"])
def test_a_source_that_is_replaced_commits_nothing_of_it(
    when: str, tmp_path: Path, local_place: MakePlace
) -> None:
    """Between plan and read, and between read and PUT."""
    source = make_scene(tmp_path / "s.tif", 128, 64)
    other = make_scene(tmp_path / "other.tif", 128, 64, seed=9)
    place = local_place()
    spec = _planned(str(source), place, window=64, block_size=64)
    job.commit_windows(spec, [0], ME)
    real = source_bands.read_window

    def read(*given: Any) -> Any:
        if when == "before":
            other.replace(source)
        found = real(*given)
        if when == "while":
            other.replace(source)
        return found

    with mock.patch.object(source_bands, "read_window", read):
        (outcome,) = job.commit_windows(spec, [1], ME).outcomes
    assert outcome.outcome == "failed"
    assert f"{source}: " in str(outcome.error)
    assert "changed after it was pinned" in str(outcome.error)
    tiles = [key for key in place.versions() if key.startswith("tiles/")]
    assert tiles == [keys.tile_key(spec.plan.job_id, "0000_0000")]
    assert tuple(job.missing_windows(spec)) == (1,)
