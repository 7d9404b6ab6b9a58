"""A scene of smooth relief and noise, the same for the same seed: ``python -m bench.scene OUT``."""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import rasterio
from rasterio.transform import from_origin
from rasterio.windows import Window

STRIP = 512
LARGE_PX, CORNER_PX = 32_768, 8192
# Of a swath: its width and how far it leans, both as shares of the edge.
SWATH, LEAN = 0.75, 0.2
PIXEL_M = 10.0
# Chosen so that DEFLATE keeps about 55 % of the uint16 scene, as of real optical imagery.
NOISE = 20.0


def strip(seed: int, y0: int, shape: tuple[int, int, int], dtype: str) -> npt.NDArray[Any]:
    """Rows ``y0`` onwards, (band, row, column); depends on nothing but the arguments."""
    bands, height, width = shape
    rng = np.random.default_rng([seed, y0])
    y, x = np.ogrid[y0 : y0 + height, 0:width]
    relief = 8000 + 3000 * np.sin(x / 900.0) * np.cos(y / 700.0) + (x + y) / 10.0
    noise = rng.standard_normal(shape, dtype=np.float32) * NOISE
    pixels: npt.NDArray[np.float64] = (
        relief[None] * (1 + 0.1 * np.arange(bands)[:, None, None]) + noise
    )
    kind: np.dtype[Any] = np.dtype(dtype)
    if kind.kind == "f":
        return (pixels / 10_000).astype(kind)
    limits = np.iinfo(kind)
    return np.clip(np.rint(pixels), limits.min, limits.max).astype(kind)


def mirrored(pixels: npt.NDArray[Any], bands: int, size: int) -> npt.NDArray[Any]:
    """(bands, size, size) of one band (row, column), repeated, every second time mirrored.

    Each band begins elsewhere, so that no two are the same.
    """
    height, width = pixels.shape
    return np.stack(
        [
            pixels[
                np.ix_(
                    _there_and_back(331 * n, size, height), _there_and_back(577 * n, size, width)
                )
            ]
            for n in range(bands)
        ]
    )


def _there_and_back(start: int, size: int, length: int) -> npt.NDArray[np.int64]:
    step = np.arange(start, start + size) % (2 * length)
    return np.minimum(step, 2 * length - 1 - step)


def repeat(source: str, path: str, size: int, bands: int) -> None:
    """Write a square scene of the pixels of ``source``'s first band, with its nodata."""
    with rasterio.open(source) as dataset:
        pixels, nodata = dataset.read(1), dataset.nodata
    with rasterio.open(path, "w", **_profile(size, bands, pixels.dtype.name, nodata)) as dataset:
        dataset.write(mirrored(pixels, bands, size))


def swath(y0: int, rows: int, size: int) -> npt.NDArray[np.uint8]:
    """The mask (row, column) of rows ``y0`` onwards: 255 in a strip that leans like an orbit."""
    y, x = np.ogrid[y0 : y0 + rows, 0:size]
    left = (1 - SWATH) / 2 * size + LEAN * (y - size / 2)
    inside: npt.NDArray[np.bool_] = (x >= left) & (x < left + SWATH * size)
    return np.where(inside, 255, 0).astype(np.uint8)


def make(path: str, size: int, bands: int, dtype: str, seed: int, *, mask: bool = False) -> None:
    """Write a square tiled GeoTIFF without compression, by strips; with an internal mask if asked.

    Of one that is larger than ``LARGE_PX`` only a corner is not empty: it need not fit a disk.
    """
    end = size if size <= LARGE_PX else CORNER_PX
    with (
        rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True),
        rasterio.open(path, "w", **_profile(size, bands, dtype, None)) as dataset,
    ):
        for y0 in range(0, end, STRIP):
            rows = min(STRIP, end - y0)
            pixels, window = strip(seed, y0, (bands, rows, end), dtype), Window(0, y0, end, rows)
            if mask:
                seen = swath(y0, rows, end)
                pixels *= seen > 0
                dataset.write_mask(seen, window=window)
            dataset.write(pixels, window=window)


def _profile(size: int, bands: int, dtype: str, nodata: float | None) -> dict[str, Any]:
    return {
        "driver": "GTiff",
        "width": size,
        "height": size,
        "count": bands,
        "dtype": dtype,
        "nodata": nodata,
        "crs": "EPSG:32633",
        "transform": from_origin(300_000, 5_000_000, PIXEL_M, PIXEL_M),
        "tiled": True,
        "blockxsize": 512,
        "blockysize": 512,
        "interleave": "pixel",
        "bigtiff": "if_safer",
        "sparse_ok": True,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--bands", type=int, default=3)
    parser.add_argument("--dtype", default="uint16")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--source", help="a band to repeat and mirror; its type is kept")
    parser.add_argument("--mask", action="store_true", help="with an internal mask")
    options = parser.parse_args(arguments)
    shape = options.size, options.bands
    if options.source:
        repeat(options.source, options.path, *shape)
    else:
        make(options.path, *shape, options.dtype, options.seed, mask=options.mask)


if __name__ == "__main__":
    main()
