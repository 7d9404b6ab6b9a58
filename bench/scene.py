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


def make(path: str, size: int, bands: int, dtype: str, seed: int) -> None:
    """Write a square tiled GeoTIFF without compression, by strips."""
    profile = {
        "driver": "GTiff",
        "width": size,
        "height": size,
        "count": bands,
        "dtype": dtype,
        "crs": "EPSG:32633",
        "transform": from_origin(300_000, 5_000_000, PIXEL_M, PIXEL_M),
        "tiled": True,
        "blockxsize": 512,
        "blockysize": 512,
        "interleave": "pixel",
        "bigtiff": "if_safer",
    }
    with rasterio.open(path, "w", **profile) as dataset:
        for y0 in range(0, size, STRIP):
            rows = min(STRIP, size - y0)
            pixels = strip(seed, y0, (bands, rows, size), dtype)
            dataset.write(pixels, window=Window(0, y0, size, rows))


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--bands", type=int, default=3)
    parser.add_argument("--dtype", default="uint16")
    parser.add_argument("--seed", type=int, default=20)
    make(**vars(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
