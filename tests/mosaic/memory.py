"""A whole job in memory: pixels in, tiles, rows and the mosaic's bytes out. No store, no source."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rasterio.crs import CRS

from scenemosaic.grids.grid import Grid
from scenemosaic.keys import tile_key
from scenemosaic.manifests.port import Row
from scenemosaic.mosaic.assembly import Get, assembled, tiles_in_order
from scenemosaic.mosaic.progress import Told, untold
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import Plan
from scenemosaic.recipes.recipe import ENCODING, Recipe
from scenemosaic.stores.port import Copying, CopyRun, FileSlice, Literal, Segment
from scenemosaic.tiff.template import make_template
from scenemosaic.tile import EncodedTile, encode_tile, read_box

Array = npt.NDArray[Any]
UTM31 = CRS.from_epsg(32631).to_wkt()


def recipe_for(pixels: Array, window_size: int, **options: Any) -> Recipe:
    """A recipe for an image (bands, height, width), with the planner's usual predictor."""
    bands, height, width = pixels.shape
    options.setdefault("encoding_version", ENCODING)
    options.setdefault("predictor", _predictor(pixels.dtype, options.get("compress", "deflate")))
    return Recipe(
        grid=Grid(UTM31, (10.0, 0.0, 500_000.5, 0.0, -10.0, 5_000_000.25), width, height),
        dtype=pixels.dtype.name,
        bands=bands,
        nodata=options.pop("nodata", None),
        has_mask=options.pop("has_mask", False),
        window_size=window_size,
        **options,
    )


def _predictor(dtype: np.dtype[Any], compress: str) -> int:
    if compress not in ("deflate", "zstd", "lzw"):
        return 1
    return {"f": 3, "c": 1}.get(dtype.kind, 2)


def segment_bytes(segment: Segment, get: Get) -> bytes:
    """What a store would write for a segment; ``get`` is assembly's."""
    match segment:
        case Literal():
            return segment.data
        case CopyRun() if segment.data is not None:
            return bytes(segment.data)
        case CopyRun():
            return get(segment.key, segment.offset, segment.size_bytes, segment.etag)
        case FileSlice():
            with open(segment.path, "rb") as file:
                file.seek(segment.offset)
                return file.read(segment.size_bytes)


@dataclass(frozen=True)
class MemoryJob:
    """Tiles by key, and their rows."""

    plan: Plan
    tiles: dict[str, EncodedTile]
    rows: list[Row]

    def get(self, key: str, offset: int, size_bytes: int, etag: str) -> bytes:
        return self.tiles[key].data[offset : offset + size_bytes]

    def bytes_of(self, segment: Segment) -> bytes:
        return segment_bytes(segment, self.get)

    def mosaic(
        self, readers: int = 1, copying: Copying | None = None, told: Told = untold
    ) -> bytes:
        tiles, how = tiles_in_order(self.plan, self.rows), copying or Copying()
        more = {"copying": how, "readers": readers, "told": told}
        with assembled(tiles, self.plan.recipe, self.get, **more) as made:
            data = b"".join(map(self.bytes_of, made.stitched.segments))
            assert len(data) == made.stitched.size_bytes
        return data


def tile_job(pixels: Array, recipe: Recipe, mask: Array | None = None) -> MemoryJob:
    """All tiles of an image."""
    plan = Plan((Pin(None, "0" * 64, None, None, 1),), recipe)
    template = make_template(recipe, lambda dataset: None)
    tiles, rows = {}, []
    for window in recipe.tiling().windows():
        read = read_box(window, recipe)
        box = np.s_[read.y0 : read.y1, read.x0 : read.x1]
        part = None if mask is None else np.ascontiguousarray(mask[box])
        inside = np.ascontiguousarray(pixels[:, *box])
        tile = encode_tile(inside, part, window, recipe, template, read)
        key = tile_key(plan.job_id, window.name)
        tiles[key] = tile
        rows.append(
            Row(
                partition=plan.job_id,
                window=window.name,
                output_uri=key,
                bytes=len(tile.data),
                sha256=tile.sha256,
                etag="e",
                version_id=None,
                blocks=tile.blocks,
                crc=tile.crc,
                revision=1,
                written_by="test",
                written_at="2026-01-01T00:00:00Z",
            )
        )
    return MemoryJob(plan, tiles, rows)


def write_mosaic(path: Path, pixels: Array, recipe: Recipe, mask: Array | None = None) -> Path:
    """The mosaic of an image as a file."""
    path.write_bytes(tile_job(pixels, recipe, mask).mosaic())
    return path
