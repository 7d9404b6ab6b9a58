"""Invariant 2 for warped work: pixels are those of the sources and the grid, not of windows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import rasterio
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.enums import Resampling
from rasterio.transform import Affine
from rasterio.vrt import WarpedVRT
from rasterio.warp import transform

from scenemosaic.compositing.composite import composite
from scenemosaic.compositing.warping import warp_of
from scenemosaic.grids.grid import Window
from tests.compositing.scenes import ORIGIN, Mosaic, make, mosaic, waves
from tests.plan.rasters import write_raster

KERNELS = ("nearest", "bilinear", "cubic")
Pixels = npt.NDArray[Any]


@pytest.fixture(scope="module")
def zones(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two scenes that overlap at 6 degrees east, in the zones of either side, with holes."""
    folder = tmp_path_factory.mktemp("zones")
    x, y = transform("EPSG:32632", "EPSG:32631", [300_000], [5_000_000])
    origin = (round(x[0], -1) - 3_000, round(y[0], -1) + 900)
    west, east = waves(640, 620, 2), waves(600, 650, 2, seed=5)
    west[:, 100:300, 200:260] = 0
    east[0, 40:90, 10:200] = 0
    return (
        make(folder / "west.tif", west.astype("uint16"), origin=origin, nodata=0),
        make(
            folder / "east.tif",
            east.astype("uint16"),
            origin=(300_000.0, 5_000_000.0),
            nodata=0,
            crs="EPSG:32632",
        ),
    )


@pytest.mark.parametrize(
    ("kernel", "method"),
    [("nearest", "first"), ("bilinear", "mean"), ("bilinear", "median"), ("cubic", "last")],
)
def test_windows_of_any_size_make_the_same_pixels(
    zones: tuple[str, str], kernel: str, method: str
) -> None:
    made = mosaic(zones, warp_resampling=kernel, method=method)
    whole = made.pixels()
    assert (whole != 0).mean() > 0.6
    for window in (512, 208):
        assert np.array_equal(made.pixels(window), whole)


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:3857", "EPSG:3035"])
def test_nor_do_other_grids(zones: tuple[str, str], crs: str) -> None:
    made = mosaic(zones, crs=crs)
    assert np.array_equal(made.pixels(304), made.pixels())


@settings(max_examples=25)
@given(box=st.tuples(*[st.integers(0, 10_000)] * 4), kernel=st.sampled_from(KERNELS))
def test_any_box_is_cut_from_the_whole(
    wholes: Callable[[str], tuple[Mosaic, Pixels]], box: tuple[int, ...], kernel: str
) -> None:
    made, whole = wholes(kernel)
    _, height, width = whole.shape
    y0, x0 = box[0] % height, box[1] % width
    y1, x1 = min(height, y0 + 1 + box[2] % 300), min(width, x0 + 1 + box[3] % 300)
    cut = composite(made.plan, made.locations, Window(0, 0, y0, x0, y1, x1))
    assert np.array_equal(cut.pixels, whole[:, y0:y1, x0:x1])


@pytest.fixture(scope="module")
def wholes(zones: tuple[str, str]) -> Callable[[str], tuple[Mosaic, Pixels]]:
    made = {kernel: mosaic(zones, warp_resampling=kernel) for kernel in KERNELS}
    whole = {kernel: one.pixels() for kernel, one in made.items()}
    return lambda kernel: (made[kernel], whole[kernel])


@pytest.mark.parametrize("kernel", [*KERNELS, "cubic_spline", "lanczos", "average"])
@pytest.mark.parametrize("coarser", [1, 4])
def test_the_kernel_is_gdals(tmp_path: Path, kernel: str, coarser: int) -> None:
    """Against one warp of the whole image, of a source in one zone on a grid of the other."""
    source = make(
        tmp_path / "a.tif",
        waves(700, 600).astype("float32"),
        origin=(300_000.0, 5_000_000.0),
        crs="EPSG:32632",
    )
    made = mosaic([source], crs="EPSG:32631", resolution=(10.0 * coarser,), warp_resampling=kernel)
    pixels, mask = made.read(512)
    assert mask is not None
    expected = _by_gdal(source, made, kernel, coarser)
    both = (mask != 0) & ~np.isnan(expected)
    assert both.mean() > 0.7
    assert ((mask != 0) == ~np.isnan(expected)).mean() > 0.999
    off = np.abs(pixels[0] - expected)[both]
    # A point on the edge of a source's pixel may fall to either side.
    assert (off > 0.05).mean() < 1e-3


def _by_gdal(source: str, made: Mosaic, kernel: str, coarser: int) -> Pixels:
    grid = made.plan.recipe.grid
    options: dict[str, Any] = {"resampling": Resampling[kernel], "tolerance": 1e-7}
    warp = warp_of(made.plan.grids[0], grid, kernel, 4)
    assert warp.scale_x == pytest.approx(1 / coarser, rel=0.01)
    options |= {"nodata": np.nan, "XSCALE": warp.scale_x, "YSCALE": warp.scale_y}
    options |= {"transform": Affine(*grid.transform), "width": grid.width, "height": grid.height}
    with rasterio.open(source) as dataset, WarpedVRT(dataset, crs="EPSG:32631", **options) as vrt:
        pixels: Pixels = vrt.read(1)
    return pixels


def test_holes_do_not_bleed(tmp_path: Path) -> None:
    """What has no value weighs nothing: no mean of it and of its neighbours."""
    pixels = np.full((1, 64, 64), 500, "int16")
    pixels[0, 20:30, 20:30] = -9999
    source = make(tmp_path / "a.tif", pixels, nodata=-9999)
    made = mosaic([source], resolution=(7.0,), warp_resampling="cubic").pixels()
    assert set(np.unique(made)) == {-9999, 500}


def test_cubic_stays_within_odd_bits(tmp_path: Path) -> None:
    pixels = np.zeros((1, 40, 40), "uint16")
    pixels[0, :, 20:] = 4095
    source = make(tmp_path / "a.tif", pixels, nbits=12)
    made = mosaic([source], resolution=(7.0,), warp_resampling="cubic")
    assert made.plan.recipe.nbits == 12
    assert made.pixels().max() == 4095


def test_complex_numbers_take_the_nearest(tmp_path: Path) -> None:
    pixels = (waves(40, 40) + 1j * waves(40, 40, seed=1)).astype("complex64")
    pixels[0, 3, 4] = complex(np.nan, 1)
    made = mosaic([make(tmp_path / "a.tif", pixels)], crs="EPSG:3857")
    warped, mask = made.read()
    assert made.plan.recipe.merge is not None
    assert made.plan.recipe.merge.warp == "nearest"
    assert mask is not None
    assert set(warped[0][mask != 0]) <= set(pixels[0].ravel())


def test_rounding_errors_do_not_choose_the_nearest(tmp_path: Path) -> None:
    """Every centre lies on a corner of four of the source's pixels, in thirds of degrees."""
    numbers = np.arange(40 * 1500, dtype="int32").reshape(1, 40, 1500)
    size, origin = 1 / 3600, (179.0, 45.0)
    source = make(tmp_path / "a.tif", numbers, size=size, origin=origin, crs="EPSG:4326")
    bounds = (origin[0], origin[1] - 40 * size, origin[0] + 1500 * size, origin[1])
    made = mosaic([source], resolution=(2 * size,), bounds=bounds, warp_resampling="nearest")
    assert np.array_equal(made.pixels(304)[0, :20, :750], numbers[0, 1::2, 1::2])


def test_classes_are_counted_in_the_pixels_that_they_fill(tmp_path: Path) -> None:
    """Half a minute is no float: the mosaic's edges lie a billionth of a pixel off the source's."""
    size = 0.0083333333333
    pixels = np.random.default_rng(0).integers(1, 6, (1, 200, 200)).astype("uint8")
    pixels[0][np.kron(np.random.default_rng(1).random((100, 100)) < 0.3, np.ones((2, 2))) > 0] = 0
    source = make(tmp_path / "a.tif", pixels, (0, 0), size, (3.0, 45.0), nodata=0, crs="EPSG:4326")
    fours = pixels[0].reshape(100, 2, 100, 2).transpose(0, 2, 1, 3).reshape(100, 100, 4)
    votes = np.stack([(fours == value).sum(axis=2) for value in range(6)])
    votes[0] = 0
    empty = (fours == 0).all(axis=2)
    for kernel in ("mode", "average", "rms"):
        made = mosaic([source], resolution=(2 * size,), warp_resampling=kernel).pixels(48)[0]
        assert np.array_equal(made == 0, empty)
        if kernel == "mode":
            assert np.array_equal(np.take_along_axis(votes, made[None], 0)[0], votes.max(axis=0))


@pytest.mark.parametrize("kernel", ["average", "mode", "rms"])
@pytest.mark.parametrize("size", [5.0, 10.0, 30.0, 7.0])
@pytest.mark.parametrize("turned", [False, True])
def test_a_source_ends_where_its_pixels_end(
    tmp_path: Path, kernel: str, size: float, turned: bool
) -> None:
    """Neither its first row nor its first column is seen again beside it."""
    side = int(210 / size)
    pixels = np.full((1, side, side), 7, "uint8")
    x, y = ORIGIN[0] + 210, ORIGIN[1] - 420
    place = Affine(0, size, x, size, 0, y) if turned else Affine(size, 0, x, 0, size, y)
    source = write_raster(tmp_path / "a.tif", pixels, nodata=0, transform=place)
    bounds = (ORIGIN[0], ORIGIN[1] - 630, ORIGIN[0] + 630, ORIGIN[1])
    made = mosaic([source], resolution=(10.0,), bounds=bounds, warp_resampling=kernel).pixels()[0]
    expected = np.zeros((63, 63), "uint8")
    expected[21:42, 21:42] = 7
    assert np.array_equal(made, expected)


@pytest.mark.parametrize("kernel", ["average", "rms"])
def test_two_scenes_side_by_side_meet_in_no_pixel(tmp_path: Path, kernel: str) -> None:
    """Nor where the one's datum is the other's, to a billionth of a metre."""
    whole = waves(20, 40).astype("uint16")
    west = make(tmp_path / "west.tif", whole[:, :, :20], nodata=0)
    east = make(tmp_path / "east.tif", whole[:, :, 20:], (0, 20), nodata=0, crs="EPSG:25831")
    bounds = (ORIGIN[0], ORIGIN[1] - 200, ORIGIN[0] + 400, ORIGIN[1])
    fours = whole[0].reshape(10, 2, 20, 2).astype("float64")
    expected = np.sqrt((fours**2).mean(axis=(1, 3))) if kernel == "rms" else fours.mean(axis=(1, 3))
    for method in ("first", "last", "max"):
        grid: dict[str, Any] = {"crs": "EPSG:32631", "resolution": (20.0,), "bounds": bounds}
        made = mosaic([west, east], warp_resampling=kernel, method=method, **grid).pixels()[0]
        assert np.array_equal(made, np.floor(expected + 0.5))
