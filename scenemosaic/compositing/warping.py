"""Put a source on another grid by GDAL's warper, one fixed cell at a time.

A cell is warped in full and from the same source pixels whichever window asks for
it, so neither GDAL's choice of source windows, nor its approximations, nor PROJ's
choice of an operation (by the mean of the points of a line) can make pixels depend
on windows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import rasterio
from rasterio.enums import Resampling
from rasterio.errors import RasterioError
from rasterio.io import MemoryFile
from rasterio.session import DummySession
from rasterio.transform import Affine
from rasterio.vrt import WarpedVRT

from scenemosaic.compositing.boxes import Box, quarters
from scenemosaic.compositing.points import Floats, crs_of, project, shifted, to_crs, to_pixels
from scenemosaic.compositing.snapping import Straight, straight
from scenemosaic.dtypes import integer_range, is_complex, is_integer
from scenemosaic.errors import InputError, SourceReadError
from scenemosaic.grids.grid import Affine6, Grid
from scenemosaic.recipes.merge import AREAS

Pixels = npt.NDArray[Any]
Valid = npt.NDArray[np.bool_]
ReadPart = Callable[[Box], tuple[Pixels, Valid]]

# Of a source's pixel: far below what any kernel shows, and three times as fast as none.
_TOLERANCE_PX: Final = 1e-5
# Where a centre lies on the edge between two of the source's pixels, rounding does not decide.
_TIE_PX: Final = 1e-6
_REACH_PX: Final = {"nearest": 1, "cubic": 2, "cubic_spline": 2, "lanczos": 3}
_SPARE_PX: Final = 4
# A cell that needs more of its source is made in quarters, down to the least side.
_MOST_SOURCE_BYTES: Final = 128 << 20
_LEAST_CELL_PX: Final = 8
_STEPS: Final = 16
_WARP_MB: Final = 2048


@dataclass(frozen=True, slots=True)
class Warp:
    """How a source comes onto a grid: kernel, and grid pixels for each of its own, at most 1.

    ``pixel_bytes`` are those of all its bands that are read.
    """

    source: Grid
    target: Grid
    kernel: str
    scale_x: float
    scale_y: float
    pixel_bytes: int

    def margin_px(self) -> int:
        """Source pixels around those that a cell covers, that its kernel may reach."""
        reach = _REACH_PX.get(self.kernel, 1)
        return math.ceil(reach / min(self.scale_x, self.scale_y)) + _SPARE_PX


@lru_cache(maxsize=1024)
def warp_of(source: Grid, target: Grid, kernel: str, pixel_bytes: int) -> Warp:
    """The same kernel width for all of a source, by the scale at its centre."""
    x, y = _scales(source, target)
    return Warp(source, target, kernel, x, y, pixel_bytes)


def warp_cell(warp: Warp, cell: Box, read: ReadPart) -> tuple[Pixels, Valid] | None:
    """The cell's pixels and which of them the source has, by band; None where it has none.

    ``read`` gives pixels and validity of a box of the source. Raises SourceReadError where
    GDAL does not warp it.
    """
    wanted = source_box(warp, cell)
    if wanted is None:
        return None
    too_much = wanted.pixels * warp.pixel_bytes > _MOST_SOURCE_BYTES
    if too_much and max(cell.height, cell.width) > _LEAST_CELL_PX:
        return _in_quarters(warp, cell, read)
    pixels, valid = read(wanted)
    if not valid.any():
        return None
    try:
        return _warped(warp, cell, wanted, pixels, valid)
    except RasterioError as error:
        raise SourceReadError(f"GDAL does not warp it: {error}") from None


def source_box(warp: Warp, cell: Box) -> Box | None:
    """What has to be read of the source for a cell of the grid; None for nothing."""
    found = _in_source(warp.source, warp.target, *_points(cell))
    xs, ys = (axis[~np.isnan(axis)] for axis in found)
    if not len(xs):
        return None
    image = Box(0, 0, warp.source.height, warp.source.width)
    x0, x1 = _widened(xs, warp.margin_px())
    y0, y1 = _widened(ys, warp.margin_px())
    return Box(y0, x0, y1, x1).meets(image)


def _points(cell: Box) -> tuple[Floats, Floats]:
    steps = np.linspace(0.0, 1.0, _STEPS + 1)
    cols, rows = np.meshgrid(cell.x0 + steps * cell.width, cell.y0 + steps * cell.height)
    return cols.ravel(), rows.ravel()


def _widened(values: Floats, margin: int) -> tuple[int, int]:
    low, high = float(values.min()), float(values.max())
    spare = margin + (high - low) / 64
    return math.floor(max(low - spare, -1e12)), math.ceil(min(high + spare, 1e12))


def _in_source(source: Grid, target: Grid, cols: Floats, rows: Floats) -> tuple[Floats, Floats]:
    xs, ys = to_crs(target.transform, cols, rows)
    return to_pixels(source.transform, *project(target.crs_wkt, source.crs_wkt, (xs, ys)))


def _scales(source: Grid, target: Grid) -> tuple[float, float]:
    """Target pixels for a source's, along its columns and rows; 1 where it is about that or more.

    GDAL takes a kernel as it is from 0.95 on.
    """
    middle = np.array([source.width / 2]), np.array([source.height / 2])
    try:
        there = project(source.crs_wkt, target.crs_wkt, to_crs(source.transform, *middle))
        col, row = to_pixels(target.transform, *there)
        cols = np.array([0.0, 1.0, 0.0]) + col[0]
        rows = np.array([0.0, 0.0, 1.0]) + row[0]
        xs, ys = _in_source(source, target, cols, rows)
    except InputError:
        return 1.0, 1.0
    return _scale(xs), _scale(ys)


def _scale(values: Floats) -> float:
    per_pixel = math.hypot(values[1] - values[0], values[2] - values[0])
    if not math.isfinite(per_pixel) or per_pixel <= 1 / 0.95:
        return 1.0
    return float(f"{1 / per_pixel:.6g}")


def _in_quarters(warp: Warp, cell: Box, read: ReadPart) -> tuple[Pixels, Valid] | None:
    parts = [(box, warp_cell(warp, box, read)) for box in quarters(cell)]
    return pasted(cell, [(box, part) for box, part in parts if part is not None])


def pasted(part: Box, made: list[tuple[Box, tuple[Pixels, Valid]]]) -> tuple[Pixels, Valid] | None:
    """What boxes hold of ``part``, together; None where there is no box. No value elsewhere."""
    if not made:
        return None
    bands, dtype = made[0][1][0].shape[0], made[0][1][0].dtype
    pixels = np.zeros((bands, part.height, part.width), dtype)
    valid = np.zeros(pixels.shape, np.bool_)
    for cell, (some, known) in made:
        both = cell.meets(part)
        if both is not None:
            there, here = both.inside(part), both.inside(cell)
            pixels[:, *there], valid[:, *there] = some[:, *here], known[:, *here]
    return pixels, valid


def _warped(
    warp: Warp, cell: Box, box: Box, pixels: Pixels, valid: Valid
) -> tuple[Pixels, Valid] | None:
    work = _as_floats(pixels, valid)
    lies = _lies(warp, cell) if warp.kernel in AREAS else None
    made = _by_gdal(warp, *_grids(warp, cell, box, lies), work)
    if lies is not None:
        made[:, ~lies.sees(cell, warp.source)] = math.nan
    known = ~np.isnan(made)
    if is_complex(str(pixels.dtype)):
        known = known[0::2] & known[1::2]
        made = (made[0::2] + 1j * made[1::2]).astype(pixels.dtype)
    if not known.any():
        return None
    return _as_type(made, known, pixels.dtype), known


def _lies(warp: Warp, cell: Box) -> Straight | None:
    points = _points(cell)
    return straight(cell, *points, _in_source(warp.source, warp.target, *points))


def _grids(warp: Warp, cell: Box, box: Box, lies: Straight | None) -> tuple[Grid, Grid]:
    """The source's box and the cell, as GDAL is told of them."""
    target_wkt = warp.target.crs_wkt
    plane = None if lies is None else lies.transforms(box)
    if plane is not None:
        return _grid(target_wkt, plane[0], box), _grid(target_wkt, plane[1], cell)
    tie = _TIE_PX if warp.kernel == "nearest" else 0.0
    source = shifted(warp.source.transform, box.x0 - tie, box.y0 - tie)
    target = shifted(warp.target.transform, cell.x0, cell.y0)
    return _grid(warp.source.crs_wkt, source, box), _grid(target_wkt, target, cell)


def _grid(crs_wkt: str, transform: Affine6, box: Box) -> Grid:
    return Grid(crs_wkt, transform, box.width, box.height)


def _as_floats(pixels: Pixels, valid: Valid) -> Pixels:
    """Floats that hold the type's values exactly, NaN where there is none; complex as two bands."""
    if is_complex(str(pixels.dtype)):
        pair = np.stack([pixels.real, pixels.imag], axis=1).reshape(-1, *pixels.shape[1:])
        return np.where(np.repeat(valid, 2, axis=0) if len(valid) > 1 else valid, pair, np.nan)
    exact = np.float32 if pixels.dtype.itemsize < 4 or pixels.dtype == np.float32 else np.float64
    work = pixels.astype(exact)
    work[~np.broadcast_to(valid, work.shape)] = np.nan
    return work


def _as_type(made: Pixels, known: Valid, dtype: np.dtype[Any]) -> Pixels:
    """Integers round half up, as GDAL's do, and stay within their type."""
    if not is_integer(str(dtype)):
        return made.astype(dtype)
    low, high = integer_range(str(dtype))
    return np.where(known, np.clip(np.floor(made + 0.5), low, high), 0).astype(dtype)


def _by_gdal(warp: Warp, source: Grid, target: Grid, work: Pixels) -> Pixels:
    bands, height, width = work.shape
    profile = {"driver": "GTiff", "count": bands, "height": height, "width": width}
    source_crs, nodata = crs_of(source.crs_wkt), math.nan
    profile |= {"dtype": str(work.dtype), "crs": source_crs, "nodata": nodata}
    with rasterio.Env(DummySession(), GDAL_PAM_ENABLED="NO"), MemoryFile() as memory:
        with memory.open(**profile, transform=Affine(*source.transform)) as dataset:
            dataset.write(work)
        with (
            memory.open() as dataset,
            WarpedVRT(
                dataset,
                src_crs=source_crs,
                crs=crs_of(target.crs_wkt),
                transform=Affine(*target.transform),
                width=target.width,
                height=target.height,
                resampling=Resampling[warp.kernel],
                tolerance=_TOLERANCE_PX,
                src_nodata=nodata,
                nodata=nodata,
                warp_mem_limit=_WARP_MB,
                UNIFIED_SRC_NODATA="NO",
                XSCALE=repr(warp.scale_x),
                YSCALE=repr(warp.scale_y),
                SOURCE_EXTRA=str(_SPARE_PX),
                SAMPLE_GRID="YES",
            ) as warped,
        ):
            made: Pixels = warped.read()
    return made
