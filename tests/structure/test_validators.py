"""Each judge of tests/validators.py refuses a file that is made wrong for it."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.shutil import copy
from rasterio.transform import from_origin

from tests import validators


@pytest.fixture
def cog(tmp_path: Path) -> Path:
    plain = tmp_path / "plain.tif"
    noise = np.random.default_rng(7).integers(0, 60_000, (2, 1024, 1024), dtype=np.uint16)
    with rasterio.open(
        plain,
        "w",
        driver="GTiff",
        width=1024,
        height=1024,
        count=2,
        dtype="uint16",
        crs="EPSG:32633",
        transform=from_origin(300_000, 5_000_000, 10, 10),
    ) as dataset:
        dataset.write(noise)
    copy(plain, tmp_path / "cog.tif", driver="COG", compress="deflate", blocksize=256)
    return tmp_path / "cog.tif"


@pytest.fixture
def needs_gdal() -> None:
    if not validators.gdal_validator_is_there():
        validators.tool_is_missing("GDAL's COG validator is not installed")


def test_a_cog_of_gdals_own_is_accepted(cog: Path) -> None:
    validators.assert_valid_cog(cog)


def test_rio_cogeo_refuses_a_raster_without_overviews(cog: Path) -> None:
    with pytest.raises(AssertionError, match="rio-cogeo refuses"):
        validators.assert_rio_cogeo_accepts(cog.with_name("plain.tif"))


@pytest.mark.usefixtures("needs_gdal")
def test_gdal_refuses_a_false_claim_about_the_blocks(cog: Path) -> None:
    with rasterio.open(cog) as dataset:
        offset = int(dataset.get_tag_item("BLOCK_OFFSET_1_1", "TIFF", bidx=1))
    data = bytearray(cog.read_bytes())
    data[offset - 4 : offset] = b"\0\0\0\0"  # the leader that the ghost header promises
    cog.write_bytes(data)
    validators.assert_rio_cogeo_accepts(cog)
    with pytest.raises(AssertionError, match="GDAL's validator refuses"):
        validators.assert_gdal_accepts(cog)


@pytest.mark.usefixtures("needs_gdal")
def test_gdal_refuses_overviews_behind_the_image(cog: Path) -> None:
    with rasterio.open(cog.with_name("plain.tif"), "r+") as dataset:
        dataset.build_overviews([2, 4])
    with pytest.raises(AssertionError, match="GDAL's validator"):
        validators.assert_gdal_accepts(cog.with_name("plain.tif"))


@pytest.mark.parametrize("level", [None, 0])
def test_a_damaged_block_is_found_at_every_level(cog: Path, level: int | None) -> None:
    where = {} if level is None else {"ovr": level}
    with rasterio.open(cog) as dataset:
        offset = int(dataset.get_tag_item("BLOCK_OFFSET_1_1", "TIFF", bidx=1, **where))
    data = bytearray(cog.read_bytes())
    data[offset + 40 : offset + 80] = bytes(40)
    cog.write_bytes(data)
    with pytest.raises(rasterio.errors.RasterioIOError):
        validators.assert_every_block_decodes(cog)


def test_in_ci_a_missing_validator_is_a_failure(cog: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validators, "gdal_validator_is_there", lambda: False)
    monkeypatch.setenv("SCENEMOSAIC_CI", "1")
    with pytest.raises(pytest.fail.Exception, match="python3-gdal"):
        validators.assert_gdal_accepts(cog)
    monkeypatch.delenv("SCENEMOSAIC_CI")
    with pytest.warns(UserWarning, match="left out"):
        validators.assert_gdal_accepts(cog)
