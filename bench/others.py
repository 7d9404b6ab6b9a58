"""Other ways to one file, as child processes: ``python -m bench.others odc|merge SOURCE OUT``.

``odc`` is odc-geo's ``save_cog_with_dask`` from lazily read windows; ``merge`` is
``rasterio.merge`` of a folder of tiles, into a tiled GeoTIFF without overviews. Runs under
any interpreter that has what the way needs: nothing of scenemosaic is imported.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

THREADS = 2


def odc(source: str, target: str, window: int, predictor: int) -> None:
    """A COG of the raster ``source`` with overviews, deflate 6, blocks of 512, two threads."""
    import rasterio
    import xarray
    from odc.geo.cog import save_cog_with_dask
    from odc.geo.xr import ODCExtension  # noqa: F401  # names the accessor

    with rasterio.open(source) as dataset:
        pixels = _lazy(source, dataset, window)
        crs, transform = str(dataset.crs), dataset.transform
    coords = _centres(pixels, transform)
    # A single band must have no axis of its own.
    pixels, dims = (pixels[..., 0], "yx") if pixels.shape[2] == 1 else (pixels, ("y", "x", "band"))
    image: Any = xarray.DataArray(pixels, dims=tuple(dims), coords=coords)
    image = image.odc.assign_crs(crs)
    made = save_cog_with_dask(
        image,
        target,
        compression="DEFLATE",
        level=6,
        predictor=predictor,
        blocksize=512,
        overview_resampling="average",
        bigtiff=False,
        stats=False,
    )
    dask: Any = import_module("dask")
    dask.compute(made, scheduler="threads", num_workers=THREADS)


def _lazy(source: str, dataset: Any, window: int) -> Any:
    """(y, x, band), so that the COG is interleaved by pixel; a chunk a window, read when needed."""
    array: Any = import_module("dask.array")
    edges = [_edges(length, window) for length in (dataset.height, dataset.width)]
    chunks, kind = (*edges, (dataset.count,)), dataset.dtypes[0]
    read = partial(_read, source)
    return array.map_blocks(read, chunks=chunks, dtype=kind, meta=_none(kind))


def _edges(length: int, window: int) -> tuple[int, ...]:
    return tuple(min(window, length - start) for start in range(0, length, window))


def _none(kind: str) -> Any:
    import numpy as np

    return np.empty((0, 0, 0), kind)


def _read(source: str, block_info: Any = None) -> Any:
    import numpy as np
    import rasterio
    from rasterio.windows import Window

    (y, y_end), (x, x_end), _ = block_info[None]["array-location"]
    with rasterio.open(source) as dataset:
        pixels = dataset.read(window=Window(x, y, x_end - x, y_end - y))
    return np.ascontiguousarray(pixels.transpose(1, 2, 0))


def _centres(pixels: Any, transform: Any) -> Mapping[str, Any]:
    import numpy as np

    height, width, _ = pixels.shape
    x = transform.c + transform.a * (np.arange(width) + 0.5)
    return {"y": transform.f + transform.e * (np.arange(height) + 0.5), "x": x}


def merge(source: str, target: str, window: int, predictor: int) -> None:
    """A tiled GeoTIFF of the tiles in the folder ``source``, deflate 6; no overviews."""
    from rasterio.merge import merge as merged

    options = {"driver": "GTiff", "tiled": True, "blockxsize": 512, "blockysize": 512}
    options |= {"compress": "deflate", "zlevel": 6, "predictor": predictor, "interleave": "pixel"}
    merged(sorted(Path(source).glob("*.tif")), dst_path=target, dst_kwds=options)


WAYS: Mapping[str, Callable[[str, str, int, int], None]] = {"odc": odc, "merge": merge}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--predictor", type=int, default=2)
    options = parser.parse_args(arguments)
    WAYS[options.way](options.source, options.target, options.window, options.predictor)


if __name__ == "__main__":
    main()
