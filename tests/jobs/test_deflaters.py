"""Which compressor a sample chose for a tile stands in its row, and costs assembly nothing."""

from pathlib import Path

import numpy as np
import pytest
import rasterio

from scenemosaic import job
from scenemosaic.mosaic.assembly import assembled, tiles_in_order
from scenemosaic.planning import PlanOptions
from scenemosaic.session import Run, open_session

WINDOW = 512


@pytest.fixture
def half_noise(tmp_path: Path) -> Path:
    """Noise in the left window, in the right one what libdeflate packs far better."""
    y, x = np.mgrid[0:WINDOW, 0:WINDOW]
    noise = 3000 + np.random.default_rng(0).normal(0, 60, (WINDOW, WINDOW))
    pixels = np.hstack([noise, (x * y) // 64]).astype(np.uint16)
    path = tmp_path / "scene.tif"
    options = {"crs": "EPSG:32631", "transform": rasterio.transform.from_origin(5e5, 5e6, 10, 10)}
    with rasterio.open(
        path,
        "w",
        driver="GTiff",
        width=2 * WINDOW,
        height=WINDOW,
        count=1,
        dtype="uint16",
        **options,
    ) as dataset:
        dataset.write(pixels, 1)
    return path


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["isa-l 1", "libdeflate 6"]),
        ({"effort": "fast"}, ["isa-l 1", "isa-l 1"]),
        ({"compress": "zstd"}, [None, None]),
    ],
)
def test_each_row_names_what_made_its_blocks(
    half_noise: Path, tmp_path: Path, options: dict[str, str], names: list[str | None]
) -> None:
    root, manifest = str(tmp_path / "root"), f"sqlite:///{tmp_path / 'manifest.db'}"
    wanted = PlanOptions(window=WINDOW, **options)  # type: ignore[arg-type]
    spec = job.plan_job([str(half_noise)], root, manifest, wanted)
    job.prepare(spec)
    job.commit_windows(spec, range(2), Run("me", "me"))
    session = open_session(spec)
    rows = [session.manifest.get(session.partition(spec), f"0000_000{col}") for col in (0, 1)]
    assert [row and row.software.get("deflate") for row in rows] == names
    read: list[str] = []

    def get(key: str, offset: int, size_bytes: int, etag: str) -> bytes:
        read.append(key)
        return session.get(key, offset, size_bytes, etag)

    tiles = tiles_in_order(spec.plan, [row for row in rows if row])
    with assembled(tiles, spec.plan.recipe, get):
        # One header, and what the top levels are made of, of each tile.
        assert len(read) == 1 + len(tiles)
