"""Invariants 2 and 3 where nodata, a mask or alpha hides pixels, value by value.

A picture is made of patches: each is one way in which values lie around nodata, with
all, none, half, one corner or one pixel of it hidden. GDAL's COG driver makes levels
of the whole picture, and we of each column alone, as windows do: they must agree.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
import rasterio.shutil
from rasterio.enums import ColorInterp

from scenemosaic.levels import Kernel, pyramid
from scenemosaic.recipes.recipe_rules import REACH_PX
from tests.mosaic.memory import recipe_for, write_mosaic
from tests.mosaic.pictures import Array, levels_of, same

PATCH = 32
BLOCK = 64
LEVELS = 2
BANDS = 4
DTYPES = (
    "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64",
)  # fmt: skip
KERNELS = ("average", "mode", "rms")
CASES = [
    *((dtype, kernel) for dtype in DTYPES for kernel in KERNELS),
    *((dtype, kernel) for dtype in ("uint16", "uint32", "float32", "int64") for kernel in REACH_PX),
]

# What it warns of, nodata beside alpha, is meant.
pytestmark = pytest.mark.filterwarnings("ignore::rasterio.errors.NodataShadowWarning")


@dataclass(frozen=True)
class Hiding:
    """What hides pixels; ``alpha`` is a band's number from 1."""

    nodata: Any = None
    mask: bool = False
    alpha: int | None = None


def hidings(dtype: np.dtype[Any]) -> Iterator[Hiding]:
    if dtype.kind == "f":
        numbers = [0.0, 1.0, -9999.0, float(np.finfo(dtype).min), float("nan")]
    else:
        limits = np.iinfo(dtype)
        # Nodata of more than 53 bits is refused.
        numbers = [n for n in (0, 7, -1, -9999, limits.min, limits.max) if abs(n) < 2**53]
        numbers = sorted({n for n in numbers if limits.min <= n <= limits.max})
    yield Hiding()
    yield from (Hiding(nodata) for nodata in numbers)
    yield Hiding(mask=True)
    yield Hiding(numbers[0], mask=True)
    yield from (Hiding(alpha=band) for band in (1, 2, BANDS))
    yield Hiding(numbers[0], alpha=BANDS)
    yield Hiding(mask=True, alpha=BANDS)


def covers(rng: np.random.Generator) -> list[Array]:
    """Which pixels of a patch are shown."""
    nothing, corner, pixel = (np.ones((PATCH, PATCH), bool) for _ in range(3))
    nothing[:] = False
    corner[:17, :15] = rng.random((17, 15)) < 0.5
    pixel[20, 13] = False
    return [np.ones((PATCH, PATCH), bool), nothing, rng.random((PATCH, PATCH)) < 0.6, corner, pixel]


def values(dtype: np.dtype[Any], around: Any, rng: np.random.Generator) -> list[Array]:
    """Patches of values: next to ``around``, one step from it, extremes, anything."""
    shape = (BANDS, PATCH, PATCH)
    if dtype.kind == "f":
        center = around if np.isfinite(around) else 0.0
        steps = [rng.integers(-2, 3, shape), rng.choice([-0.5, 0.5, 1e-6, -1e-6], shape)]
        odd = (rng.normal(size=shape) * 1000).astype(dtype)
        for value in (np.inf, -np.inf, np.nan):
            odd[rng.random(shape) < 0.05] = value
        return [*((center + step).astype(dtype) for step in steps), odd, _noise(dtype, shape, rng)]
    limits = np.iinfo(dtype)
    near = [n for n in range(int(around) - 2, int(around) + 3) if limits.min <= n <= limits.max]
    next_to = [n for n in near if abs(n - int(around)) == 1]
    extremes = [limits.min, limits.min + 1, limits.max - 1, limits.max, 0, 1]
    picked = [rng.choice(np.array(n, dtype), shape) for n in (near, next_to, extremes)]
    return [*picked, rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)]


def _noise(dtype: np.dtype[Any], shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return (rng.normal(size=shape) * 1000).astype(dtype)


def picture(dtype: np.dtype[Any], hiding: Hiding) -> tuple[Array, Array | None]:
    """Pixels and mask: rows of patches by values, columns by what is shown."""
    rng = np.random.default_rng(7)
    rows, shown = [], np.hstack(covers(rng))
    for patch in values(dtype, 0 if hiding.nodata is None else hiding.nodata, rng):
        row = np.tile(patch, (1, 1, shown.shape[1] // PATCH))
        if hiding.nodata is not None:
            _show(row, shown, hiding.nodata, rng)
        if hiding.alpha is not None:
            top = 255 if dtype.kind == "f" or dtype.itemsize > 4 else np.iinfo(dtype).max
            row[hiding.alpha - 1] = np.where(shown, rng.integers(1, top, shown.shape), 0)
        rows.append(row)
    mask = np.where(np.tile(shown, (len(rows), 1)), 255, 0).astype(np.uint8)
    return np.hstack(rows), mask if hiding.mask else None


def _show(row: Array, shown: Array, nodata: Any, rng: np.random.Generator) -> None:
    """Nodata where nothing is shown, and nowhere else."""
    hidden = np.isnan(row) if nodata != nodata else row == nodata
    others = row[~hidden] if not hidden.all() else np.zeros(1, row.dtype)
    row[hidden] = rng.choice(others, int(hidden.sum()))
    row[:, ~shown] = nodata


def gdal_levels(folder: Path, pixels: Array, mask: Any, hiding: Hiding, resampling: str) -> Any:
    bands, height, width = pixels.shape
    source, made = folder / "source.tif", folder / "gdal.tif"
    # Above its memory limit GDAL makes each level from level 0.
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True, GDAL_OVR_CHUNK_MAX_SIZE=str(1 << 30)):
        with rasterio.open(
            source, "w", driver="GTiff", count=bands, height=height, width=width,
            dtype=pixels.dtype, nodata=hiding.nodata, photometric="MINISBLACK",
            transform=rasterio.Affine.translation(5, 5), crs="EPSG:32631",
        ) as dataset:  # fmt: skip
            kinds = [ColorInterp.undefined] * bands
            if hiding.alpha is not None:
                kinds[hiding.alpha - 1] = ColorInterp.alpha
            dataset.colorinterp = kinds
            dataset.write(pixels)
            if mask is not None:
                dataset.write_mask(mask)
        rasterio.shutil.copy(
            source,
            made,
            driver="COG",
            blocksize=BLOCK,
            overview_resampling=resampling.replace("_", ""),
        )
    return levels_of(made)


def _whole(pixels: Array, mask: Any, kernel: Kernel) -> Any:
    """Our own levels of the whole picture: GDAL's last digits depend on where a chunk ends."""
    return pyramid(pixels, mask, kernel, LEVELS)


@pytest.mark.parametrize(("dtype", "resampling"), CASES)
def test_each_window_alone_has_the_levels_of_gdals_whole(
    tmp_path: Path, dtype: str, resampling: str
) -> None:
    for number, hiding in enumerate(hidings(np.dtype(dtype))):
        folder = tmp_path / str(number)
        folder.mkdir()
        pixels, mask = picture(np.dtype(dtype), hiding)
        kernel = Kernel(resampling, hiding.nodata, hiding.alpha)
        if kernel.reach:
            theirs = _whole(pixels, mask, kernel)
        else:
            theirs = gdal_levels(folder, pixels, mask, hiding, resampling)
        for x in range(0, pixels.shape[2], PATCH):
            # What lies around a window is read, too, where the kernel reaches there.
            left = max(x - kernel.margin(LEVELS), 0)
            box = np.s_[..., left : x + PATCH + kernel.margin(LEVELS)]
            part = None if mask is None else np.ascontiguousarray(mask[box])
            ours = pyramid(np.ascontiguousarray(pixels[box]), part, kernel, LEVELS)
            for level in range(1, LEVELS + 1):
                cut = np.s_[..., x >> level : (x + PATCH) >> level]
                own = np.s_[..., (x - left) >> level : (x - left + PATCH) >> level]
                where = f"{hiding}, column at {x}, level {level}"
                assert same(ours[level][0][own], theirs[level][0][cut]), where
                shown = ours[level][1]
                assert shown is None or same(shown[own], theirs[level][1][cut]), f"mask, {where}"


@pytest.mark.parametrize("resampling", ["average", "rms"])
@pytest.mark.parametrize(("dtype", "nodata"), [("float32", -9999.0), ("int16", 0), ("int64", -1)])
def test_hidden_pixels_elsewhere_change_nothing(
    tmp_path: Path, dtype: str, nodata: Any, resampling: str
) -> None:
    pixels, _ = picture(np.dtype(dtype), Hiding(nodata))
    made = []
    for window in (PATCH, 2 * PATCH, 8 * PATCH):
        recipe = recipe_for(pixels, window, block_size=PATCH, nodata=nodata, resampling=resampling)
        made.append(levels_of(write_mosaic(tmp_path / f"{window}.tif", pixels, recipe)))
    theirs = gdal_levels(tmp_path, pixels, None, Hiding(nodata), resampling)
    for level in range(LEVELS + 1):
        assert all(same(levels[level][0], theirs[level][0]) for levels in made), f"level {level}"


@pytest.mark.parametrize("nodata", [0.0, 1.0, -9999.0, float("inf")])
def test_no_mean_of_single_floats_is_hidden_by_being_nodata(tmp_path: Path, nodata: float) -> None:
    rng, shape = np.random.default_rng(2), (1, 256, 256)
    around = [nodata - 1, nodata + 1] if np.isfinite(nodata) else [np.finfo("float32").max, 0]
    pixels = rng.choice(np.array(around, "float32"), shape)
    pixels[:, 64:96, 64:96] = nodata
    ours = pyramid(pixels, None, Kernel("bilinear", nodata), LEVELS)
    theirs = gdal_levels(tmp_path, pixels, None, Hiding(nodata), "bilinear")
    for level in range(1, LEVELS + 1):
        assert np.array_equal(ours[level][0] == nodata, theirs[level][0] == nodata)
