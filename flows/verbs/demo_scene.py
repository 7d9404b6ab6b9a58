"""A made-up satellite scene for the demo: the same pixels for the same size, on every machine."""

import secrets
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.transform import from_origin
from rasterio.windows import Window

from scenemosaic.errors import InputError
from scenemosaic.sources.tiff_structure import Truncated, tiff_images
from scenemosaic.stores.local_files import read_range

SMALLEST: Final = 64
LARGEST: Final = 65_536
STRIP_ROWS: Final = 128
SEED: Final = 20_240_501
PIXEL_M: Final = 10.0
# Spacing of the noise's nodes in pixels, and its share of the height.
OCTAVES: Final = ((1024, 0.5), (256, 0.25), (64, 0.12), (16, 0.06), (4, 0.03))
# For red, green and blue: water, the darkest land, the span that height adds, and how it bends.
BANDS: Final = ((600, 700, 7800, 0.7), (1000, 1300, 4600, 0.3), (1700, 900, 2600, 0.1))
WATER_LEVEL: Final = 0.33
GRAIN: Final = 40
Floats = NDArray[np.float32]


def make_scene(path: Path, size: int, progress: Callable[[int, int], None]) -> bool:
    """Write a scene of ``size`` x ``size`` pixels, 3 x uint16, nodata 0 along a slanted edge.

    ``progress`` is told rows done and rows in all. False where ``path`` holds
    it already: a scene appears under its name only once it is whole. Raises OSError.
    """
    if not SMALLEST <= size <= LARGEST:
        raise InputError(f"the demo's scene has {SMALLEST} to {LARGEST} pixels a side, not {size}")
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: another demo may be making the same scene.
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        _write(scratch, size, progress)
        _check(scratch)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
    return True


def _check(scratch: Path) -> None:
    """GDAL writes what it still holds as it closes the file, and then tells nobody of a fault."""
    with scratch.open("rb") as file:
        try:
            whole = tiff_images(partial(read_range, file.fileno()), scratch.stat().st_size)
        except Truncated as error:
            raise OSError(str(error)) from error
    if not whole:
        raise OSError("it came out without an image")


def _write(scratch: Path, size: int, progress: Callable[[int, int], None]) -> None:
    with rasterio.open(scratch, "w", **_profile(size)) as scene:
        scene.update_tags(TIFFTAG_DATETIME="2024:05:01 10:20:30", AREA_OR_POINT="Area")
        for band, name in enumerate(("red", "green", "blue"), start=1):
            scene.set_band_description(band, name)
        for row, strip in strips(size):
            scene.write(strip, window=Window(0, row, size, strip.shape[1]))
            progress(row + strip.shape[1], size)


def _profile(size: int) -> dict[str, Any]:
    return {
        "driver": "GTiff",
        "width": size,
        "height": size,
        "count": 3,
        "dtype": "uint16",
        "nodata": 0,
        "crs": CRS.from_epsg(32633),
        "transform": from_origin(399_960.0, 5_300_040.0, PIXEL_M, PIXEL_M),
        "interleave": "pixel",
        "blockysize": 16,
        "BIGTIFF": "IF_SAFER",
    }


def strips(size: int) -> Iterator[tuple[int, NDArray[np.uint16]]]:
    """(first row, pixels of shape (3, rows, size)) from top to bottom."""
    nodes = [_nodes(size, spacing, number) for number, (spacing, _) in enumerate(OCTAVES)]
    columns = [_places(np.arange(size), spacing) for spacing, _ in OCTAVES]
    for row in range(0, size, STRIP_ROWS):
        rows = np.arange(row, min(row + STRIP_ROWS, size))
        height = np.zeros((len(rows), size), np.float32)
        for (spacing, share), grid, column in zip(OCTAVES, nodes, columns, strict=True):
            height += np.float32(share) * _interpolated(grid, _places(rows, spacing), column)
        yield row, _coloured(height, rows, size)


def _nodes(size: int, spacing: int, number: int) -> Floats:
    side = size // spacing + 2
    return np.random.default_rng((SEED, number)).random((side, side), np.float32)


def _places(pixels: NDArray[np.int_], spacing: int) -> tuple[NDArray[np.int_], Floats]:
    """For each pixel the node before it, and the smooth weight of the node after it."""
    share = (pixels % spacing / spacing).astype(np.float32)
    return pixels // spacing, share * share * (3 - 2 * share)


def _interpolated(
    nodes: Floats, rows: tuple[NDArray[np.int_], Floats], cols: tuple[NDArray[np.int_], Floats]
) -> Floats:
    (y, wy), (x, wx) = rows, cols
    band = nodes[y] + wy[:, None] * (nodes[y + 1] - nodes[y])
    left = band[:, x]
    return left + wx * (band[:, x + 1] - left)


def _coloured(height: Floats, rows: NDArray[np.int_], size: int) -> NDArray[np.uint16]:
    grain = np.random.default_rng((SEED, int(rows[0]), size)).integers(
        0, GRAIN, (3, len(rows), size), np.uint16
    )
    land = height > WATER_LEVEL
    above = (height - np.float32(WATER_LEVEL)) * np.float32(1.6)
    for band, (water, dark, span, bend) in enumerate(BANDS):
        # Products and sums alone: a power differs in its last bit between machines.
        curve = above * ((1 - bend) + bend * above)
        grain[band] += np.where(land, dark + span * curve, water).astype(np.uint16)
    # Like a swath's edge: it leans, and what lies left of it was never seen.
    edge = size // 8 - rows // 16
    grain[:, np.arange(size)[None, :] < edge[:, None]] = 0
    return grain
