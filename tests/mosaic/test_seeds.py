"""The level that a tile has beyond the mosaic's own of it."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio

from scenemosaic.levels import pyramid
from scenemosaic.mosaic.assembly import assembled, tiles_in_order
from scenemosaic.recipes.recipe import ENCODING, FIRST_ENCODING, Recipe
from scenemosaic.recipes.seed import FIRST_SEEDED, seed_recipe
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tile import kernel_of
from tests.mosaic.memory import Array, MemoryJob, recipe_for, tile_job
from tests.mosaic.pictures import noise, same
from tests.validators import assert_valid_cog

PIXELS = noise("uint8", (3, 700, 600))
MASK = np.where(noise("uint8", (700, 600)) > 99, 255, 0).astype(np.uint8)
CODECS: list[dict[str, Any]] = [
    {"compress": "deflate", "interleave": "band", "resampling": "cubic"},
    {"compress": "jpeg", "photometric": "ycbcr"},
    {"compress": "webp"},
    {"compress": "lzw"},
    {"compress": "lerc", "interleave": "band"},
    {"compress": "none"},
]


def job_of(mask: Array | None = None, window: int = 256, **options: Any) -> MemoryJob:
    """A job of PIXELS in blocks of 128."""
    options.setdefault("block_size", 128)
    recipe = recipe_for(PIXELS, window, has_mask=mask is not None, **options)
    return tile_job(PIXELS, recipe, mask)


def unseeded(recipe: Recipe, **changes: Any) -> bool:
    return seed_recipe(dataclasses.replace(recipe, **changes)) is None


@pytest.mark.parametrize("mask", [None, MASK], ids=["plain", "masked"])
@pytest.mark.parametrize("options", CODECS, ids=lambda options: str(options["compress"]))
def test_a_tile_is_a_cog_whose_last_level_is_exact(
    options: dict[str, Any], mask: Array | None, tmp_path: Path
) -> None:
    job = job_of(mask, **options)
    recipe = job.plan.recipe
    whole = pyramid(PIXELS, mask, kernel_of(recipe, None), 2)[2]
    path = tmp_path / "tile.tif"
    for name, window in (("0001_0001", (64, 64)), ("0002_0002", (128, 128))):
        path.write_bytes(next(t for key, t in job.tiles.items() if name in key).data)
        assert_valid_cog(path)
        with rasterio.open(path, overview_level=1) as seed:
            y, x = window
            inside = np.s_[y : y + seed.height, x : x + seed.width]
            assert same(seed.read(), whole[0][:, *inside])
            assert mask is None or same(seed.read_masks(1), whole[1][inside])
            assert seed.block_shapes[0] == (64, 64)


@pytest.mark.parametrize("compress", ["deflate", "jpeg"])
def test_assembly_reads_nothing_of_the_tiles_but_seeds(compress: str) -> None:
    """The preview needs the level above; the first tile's header becomes the mosaic's."""
    job = job_of(compress=compress)
    read: list[tuple[int, int]] = []

    def get(key: str, offset: int, size_bytes: int, etag: str) -> bytes:
        read.append((offset, size_bytes))
        return job.get(key, offset, size_bytes, etag)

    tiles = tiles_in_order(job.plan, job.rows)
    with assembled(tiles, job.plan.recipe, get) as made:
        made.preview()
    seeds = [
        (tile.run_offsets()[2], tile.run_offsets()[1] - tile.run_offsets()[2]) for tile in tiles
    ]
    whole = [(tile.run_offsets()[0], tile.row.bytes - tile.run_offsets()[0]) for tile in tiles]
    assert sorted(read) == sorted([(0, tiles[0].header_bytes), *seeds, *whole])


def test_a_damaged_seed_is_named() -> None:
    job = job_of()
    key, tile = next(iter(job.tiles.items()))
    data = bytearray(tile.data)
    data[tile.header_bytes + 5] ^= 1
    damaged = job.tiles | {key: dataclasses.replace(tile, data=bytes(data))}
    with pytest.raises(BadTiff, match=f"{key} holds other bytes"):
        dataclasses.replace(job, tiles=damaged).mosaic()


def test_where_there_is_no_seed() -> None:
    recipe = job_of().plan.recipe
    assert not unseeded(recipe)
    assert unseeded(recipe, window_size=1024)  # all levels are the tile's own
    assert unseeded(recipe, block_size=16, window_size=48)  # half of it is no block
    assert unseeded(recipe, encoding_version=FIRST_ENCODING)
    assert unseeded(recipe, encoding_version=2)


@pytest.mark.parametrize(
    ("compress", "dtype", "version", "expected"),
    [
        ("deflate", "uint16", ENCODING, ("zstd", 2)),
        ("deflate", "float32", ENCODING, ("zstd", 2)),
        ("none", "float32", ENCODING, ("none", 1)),
        ("deflate", "complex64", ENCODING, ("zstd", 1)),
        ("deflate", "uint16", FIRST_SEEDED, ("deflate", 2)),
        ("deflate", "float32", FIRST_SEEDED, ("deflate", 3)),
        ("zstd", "float32", FIRST_SEEDED, ("zstd", 3)),
        ("webp", "uint8", FIRST_SEEDED, ("deflate", 2)),
    ],
)
def test_seeds_are_quick_to_decode_and_those_of_earlier_jobs_stay_as_they_were(
    compress: str, dtype: str, version: int, expected: tuple[str, int]
) -> None:
    pixels = noise("uint8", (3, 700, 600)).astype(dtype)
    resampling = "nearest" if dtype == "complex64" else "average"
    recipe = recipe_for(
        pixels,
        256,
        block_size=128,
        compress=compress,
        resampling=resampling,
        encoding_version=version,
    )
    seed = seed_recipe(recipe)
    assert seed is not None
    assert (seed.compress, seed.predictor) == expected
