"""A reader over HTTP asks for a mosaic as seldom as for what GDAL makes of the same image."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pytest
import rasterio
from rasterio.windows import Window

from bench.scene import strip
from bench.web import serving
from scenemosaic.stores.port import Copying
from tests.mosaic.memory import recipe_for, tile_job
from tests.mosaic.pictures import gdal_cog

SIDE: Final = 1024
BLOCK: Final = 128
HALF: Final = SIDE // 2
ACROSS: Final = Window(HALF - 70, HALF - 70, 200, 200)
ACROSS_ROWS: Final = 3  # of blocks
MASKED: Final = "across tiles, with its mask"
READS: Mapping[str, Callable[[rasterio.DatasetReader], object]] = {
    "full": lambda dataset: dataset.read(),
    "with its mask": lambda dataset: dataset.read(masked=True),
    "overview": lambda dataset: dataset.read(out_shape=(3, HALF, HALF)),
    "across tiles": lambda dataset: dataset.read(window=ACROSS),
    MASKED: lambda dataset: dataset.read(window=ACROSS, masked=True),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """2 x 2 windows of 4 x 4 blocks, in either order, and GDAL's COG."""
    folder = tmp_path_factory.mktemp("requests")
    pixels = strip(1, 0, (3, SIDE, SIDE), "uint16")
    y, x = np.ogrid[:SIDE, :SIDE]
    inside = (y - HALF) ** 2 + (x - HALF) ** 2 < (0.9 * HALF) ** 2
    mask = np.where(inside, 255, 0).astype(np.uint8)
    options = {"block_size": BLOCK, "has_mask": True, "resampling": "average"}
    job = tile_job(pixels, recipe_for(pixels, 4 * BLOCK, **options), mask)
    for name, copying in (("rows", Copying()), ("windows", Copying(0, 0))):
        (folder / name).write_bytes(job.mosaic(copying=copying))
    gdal_cog(
        folder / "gdal", pixels, resampling="average", block_size=BLOCK, nodata=None, mask=mask
    )
    return {name: folder / name for name in ("rows", "windows", "gdal")}


def requests_for(file: Path, read: str) -> int:
    name = f"{re.sub('[ ,]+', '-', read)}-{file.name}.tif"  # GDAL keeps what it knows of a URL
    with (
        serving({name: file}) as site,
        rasterio.Env(GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR"),
        rasterio.open(f"/vsicurl/{site.url}/{name}") as dataset,
    ):
        READS[read](dataset)
    return len(site.asked)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")


@pytest.mark.parametrize("read", [read for read in READS if read != MASKED])
def test_no_more_requests_than_of_gdals_own(files: dict[str, Path], read: str) -> None:
    asked = {name: requests_for(file, read) for name, file in files.items()}
    assert asked["rows"] <= asked["gdal"] < asked["windows"], asked


def test_a_mask_costs_a_request_for_each_block_row(files: dict[str, Path]) -> None:
    """More than GDAL's, whose blocks lead to their masks, and the whole price of docs/adr/0032."""
    asked = [requests_for(files["rows"], read) for read in ("across tiles", MASKED)]
    assert asked[1] <= asked[0] + ACROSS_ROWS, asked
