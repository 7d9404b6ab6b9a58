"""Small scenes for tests of orchestration: quick to make, more than one window."""

from pathlib import Path

import numpy as np
import rasterio
from rasterio.transform import from_origin

BLOCK = 64
WINDOW = 128


def make_scene(path: Path, width: int = 500, height: int = 300, seed: int = 1) -> Path:
    """A two-band uint16 GeoTIFF of deflated blocks, 64 x 64 pixels each."""
    pixels = np.random.default_rng(seed).integers(1, 4000, (2, height, width), np.uint16)
    with rasterio.open(
        path,
        "w",
        driver="GTiff",
        width=width,
        height=height,
        count=2,
        dtype="uint16",
        nodata=0,
        crs="EPSG:32633",
        transform=from_origin(400_000, 5_000_000, 10, 10),
        tiled=True,
        blockxsize=BLOCK,
        blockysize=BLOCK,
        compress="deflate",
    ) as scene:
        scene.write(pixels)
    return path


def spoil_block(path: Path, row: int, col: int) -> None:
    """Overwrite the compressed bytes of one block of band 1 with others of the same length."""
    with rasterio.open(path) as scene:
        offset = scene.get_tag_item(f"BLOCK_OFFSET_{col}_{row}", "TIFF", bidx=1)
        size = scene.get_tag_item(f"BLOCK_SIZE_{col}_{row}", "TIFF", bidx=1)
    with path.open("r+b") as data:
        data.seek(int(offset))
        data.write(b"\xa5" * int(size))
