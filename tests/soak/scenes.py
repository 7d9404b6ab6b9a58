"""The scenes of a soak: small, and no two the same."""

import hashlib
import random
from pathlib import Path

import numpy as np
import rasterio
from rasterio.transform import from_origin

from scenemosaic import job
from scenemosaic.plans.plan import PlanOptions
from tests.soak.damage import Place
from tests.soak.evidence import Wanted

WINDOW, BLOCK = 256, 128
RECIPE = {"window": WINDOW, "block_size": BLOCK}
# Columns, rows, bands: the large ones are assembled by multipart uploads, and under a claim.
SIZES = ((512, 512, 1), (700, 600, 2), (1000, 777, 4), (900, 1000, 4))


def make_scene(folder: Path, seed: int, number: int) -> Path:
    """A GeoTIFF of noise, which hardly packs."""
    chance = random.Random(f"{seed} {number}")
    width, height, count = SIZES[number % len(SIZES)]
    pixels = np.random.default_rng(chance.randrange(1 << 32)).integers(
        1, 60_000, (count, height, width), np.uint16
    )
    path = folder / f"scene-{number:03}.tif"
    with rasterio.open(
        path,
        "w",
        driver="GTiff",
        width=width,
        height=height,
        count=count,
        dtype="uint16",
        nodata=0,
        crs="EPSG:32633",
        transform=from_origin(400_000 + 10_000 * number, 5_000_000, 10, 10),
        tiled=True,
        blockxsize=BLOCK,
        blockysize=BLOCK,
    ) as scene:
        scene.write(pixels)
    return path


def wanted(place: Place, scene: Path) -> Wanted:
    """The job of a scene that has come, and what its mosaic has to hold."""
    options = PlanOptions(window=WINDOW, block_size=BLOCK)
    spec = job.plan_job([place.location(scene.name)], place.root, place.manifest, options)
    windows = [window.name for window in spec.plan.recipe.tiling().windows()]
    return Wanted(scene.name, spec.plan.job_id, pixels(scene.read_bytes()), windows)


def pixels(data: bytes) -> str:
    """A digest of all pixels of level 0, of a scene or a mosaic."""
    with rasterio.MemoryFile(data) as held, held.open() as raster:
        array = np.ascontiguousarray(raster.read())
        described = repr((raster.crs.to_epsg(), tuple(raster.transform), array.shape))
    return hashlib.sha256(described.encode() + array.tobytes()).hexdigest()
