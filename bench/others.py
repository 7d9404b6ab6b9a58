"""Other ways to one file, as child processes: ``python -m bench.others WAY SOURCE OUT``.

``odc`` is odc-geo's ``save_cog_with_dask`` from lazily read windows; ``merge`` is
``rasterio.merge`` of a folder of tiles, into a tiled GeoTIFF without overviews, and
``cut-merge`` writes these tiles first, by rasterio. Runs under any interpreter that has what
the way needs: nothing of scenemosaic is imported. Prints the CPU seconds of imports as JSON.
"""

import argparse
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

THREADS = 2


@dataclass(frozen=True)
class Way:
    """What is to be made of what. ``prefix``: the tiles of ``source`` are read from there."""

    source: str
    target: str
    window: int
    predictor: int
    prefix: str | None = None


def odc(way: Way) -> float:
    """A COG of the raster with overviews, deflate 6, blocks of 512, two threads."""
    import rasterio
    import xarray
    from odc.geo.cog import save_cog_with_dask
    from odc.geo.xr import ODCExtension  # noqa: F401  # names the accessor

    dask: Any = import_module("dask")
    import_module("dask.array")
    imports_s = time.process_time()
    with rasterio.open(way.source) as dataset:
        pixels = _lazy(way.source, dataset, way.window)
        crs, transform = str(dataset.crs), dataset.transform
    coords = _centres(pixels, transform)
    # A single band must have no axis of its own.
    pixels, dims = (pixels[..., 0], "yx") if pixels.shape[2] == 1 else (pixels, ("y", "x", "band"))
    image: Any = xarray.DataArray(pixels, dims=tuple(dims), coords=coords)
    image = image.odc.assign_crs(crs)
    made = save_cog_with_dask(
        image,
        way.target,
        compression="DEFLATE",
        level=6,
        predictor=way.predictor,
        blocksize=512,
        overview_resampling="average",
        bigtiff=False,
        stats=False,
    )
    dask.compute(made, scheduler="threads", num_workers=THREADS)
    return imports_s


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


def merge(way: Way) -> float:
    """A tiled GeoTIFF of the tiles in the folder, deflate 6; no overviews."""
    from rasterio.merge import merge as merged

    imports_s = time.process_time()
    tiles = sorted(Path(way.source).glob("*.tif"))
    places = [f"{way.prefix}{tile.name}" if way.prefix else str(tile) for tile in tiles]
    options = {"driver": "GTiff", "bigtiff": "if_safer", **_coding(way)}
    merged(places, dst_path=way.target, dst_kwds=options)
    return imports_s


def cut_merge(way: Way) -> float:
    """The same of tiles that are cut from the raster first, beside the target."""
    import rasterio
    from rasterio.windows import Window

    imports_s = time.process_time()
    folder = Path(f"{way.target}.tiles")
    folder.mkdir()
    with rasterio.open(way.source) as scene:
        for y in range(0, scene.height, way.window):
            for x in range(0, scene.width, way.window):
                box = Window(x, y, way.window, way.window).crop(scene.height, scene.width)
                profile = scene.profile | _coding(way)
                profile |= {"height": box.height, "width": box.width}
                profile["transform"] = scene.window_transform(box)
                with rasterio.open(folder / f"{y:06d}_{x:06d}.tif", "w", **profile) as tile:
                    tile.write(scene.read(window=box))
    merge(Way(str(folder), way.target, way.window, way.predictor))
    shutil.rmtree(folder)
    return imports_s


def _coding(way: Way) -> dict[str, Any]:
    options = {"tiled": True, "blockxsize": 512, "blockysize": 512, "compress": "deflate"}
    return {**options, "zlevel": 6, "predictor": way.predictor, "interleave": "pixel"}


WAYS: Mapping[str, Callable[[Way], float]] = {"odc": odc, "merge": merge, "cut-merge": cut_merge}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--predictor", type=int, default=2)
    parser.add_argument("--prefix", help="merge: where the folder's tiles are read from")
    options = parser.parse_args(arguments)
    way = Way(options.source, options.target, options.window, options.predictor, options.prefix)
    print(json.dumps({"imports_s": WAYS[options.way](way)}))


if __name__ == "__main__":
    main()
