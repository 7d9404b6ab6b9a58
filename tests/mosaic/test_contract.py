"""Tiles that would not decode in one file are not stitched; a mosaic is looked at once it is."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.enums import ColorInterp

from scenemosaic.errors import IncompleteError
from scenemosaic.manifests.port import Row
from scenemosaic.mosaic.sample import check_sample
from scenemosaic.recipes.recipe import ENCODING, FIRST_ENCODING
from scenemosaic.tiff import ifd
from scenemosaic.tiff.runs import Packed, pack
from scenemosaic.tiff.structure import block_arrays
from scenemosaic.tiff.template import make_template, other_tags
from scenemosaic.tile import encode_tile, level_shape
from tests.mosaic.memory import Array, MemoryJob, recipe_for, tile_job
from tests.mosaic.pictures import noise

OLD, NEW = {"gdal": "3.10.3", "numpy": "2.3"}, {"gdal": "3.11.0", "numpy": "2.4"}
PIXELS = noise("uint8", (3, 300, 300))


def made_by(job: MemoryJob, versions: Mapping[str, Mapping[str, str]]) -> MemoryJob:
    """The job with the versions that its rows tell, by window; the others are NEW."""
    rows = [dataclasses.replace(row, software=versions.get(row.window, NEW)) for row in job.rows]
    return dataclasses.replace(job, rows=rows)


def with_tile(job: MemoryJob, name: str, pixels: Array, **options: Any) -> MemoryJob:
    """The job with one tile that another recipe made; its row describes it rightly."""
    recipe = job.plan.recipe
    window = recipe.tiling().window(recipe.tiling().number(name))
    other = dataclasses.replace(recipe, **options)
    part = np.ascontiguousarray(pixels[:, window.y0 : window.y1, window.x0 : window.x1])
    template = make_template(other, lambda dataset: None)
    tile = encode_tile(part, None, window, other, template)
    one = tile_job(pixels, other)
    row = next(row for row in one.rows if row.window == name)
    key = next(key for key in job.tiles if name in key)
    rows = [row if old.window == name else old for old in job.rows]
    return dataclasses.replace(job, tiles=job.tiles | {key: tile}, rows=rows)


@pytest.mark.parametrize("compress", ["jpeg", "webp"])
def test_lossy_tiles_of_several_versions_are_refused(compress: str) -> None:
    job = tile_job(PIXELS, recipe_for(PIXELS, 128, block_size=128, compress=compress))
    assert made_by(job, {}).mosaic()
    mixed = made_by(job, {"0001_0000": OLD, "0002_0002": OLD})
    with pytest.raises(IncompleteError, match=r"3\.10\.3, 3\.11\.0.*0001_0000, 0002_0002"):
        mixed.mosaic()


def test_lossless_tiles_of_several_versions_are_stitched() -> None:
    job = tile_job(PIXELS, recipe_for(PIXELS, 128, block_size=128))
    assert made_by(job, {"0001_0000": OLD}).mosaic() == job.mosaic()


@pytest.mark.parametrize(
    ("compress", "other", "words"),
    [
        ("deflate", {"predictor": 1}, "predictor"),
        ("deflate", {"compress": "zstd"}, "compression"),
        ("jpeg", {"level": 30}, "JPEG tables"),
        ("jpeg", {"photometric": "ycbcr"}, "photometric interpretation"),
    ],
)
def test_a_tile_whose_blocks_would_not_decode_is_named(
    compress: str, other: dict[str, Any], words: str
) -> None:
    job = tile_job(PIXELS, recipe_for(PIXELS, 128, block_size=128, compress=compress))
    job = with_tile(job, "0001_0002", PIXELS, **other)
    stranger = dict(NEW, numpy="2.5")
    with pytest.raises(IncompleteError, match=rf"0001_0002 has other .*{words}"):
        made_by(job, {"0001_0002": stranger}).mosaic()


@settings(max_examples=20, deadline=None)
@given(
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 7),
    st.sampled_from([FIRST_ENCODING, ENCODING]),
)
def test_the_first_tiles_header_is_that_of_its_row(share: float, bit: int, version: int) -> None:
    """All of the mosaic's tags come from it, and no block's checksum covers them."""
    recipe = recipe_for(PIXELS, 128, block_size=128, encoding_version=version)
    job = tile_job(PIXELS, recipe)
    if version == FIRST_ENCODING:
        job = dataclasses.replace(job, rows=[_earlier(row, job) for row in job.rows])
    key, tile = next(item for item in job.tiles.items() if "0000_0000" in item[0])
    data = bytearray(tile.data)
    data[int(share * tile.header_bytes)] ^= 1 << bit
    damaged = job.tiles | {key: dataclasses.replace(tile, data=bytes(data))}
    with pytest.raises(IncompleteError, match="0000_0000 holds other bytes"):
        dataclasses.replace(job, tiles=damaged).mosaic()


def _earlier(row: Row, job: MemoryJob) -> Row:
    """The row as earlier versions wrote it: without the header's CRC."""
    packed = Packed(job.tiles[row.output_uri].sizes, None)
    return dataclasses.replace(row, blocks=pack(packed))


def test_only_what_a_decoder_goes_by_is_compared() -> None:
    recipe = recipe_for(PIXELS, 128, block_size=128)

    def described(dataset: Any) -> None:
        dataset.update_tags(WHERE="here")

    one, other = make_template(recipe, described), make_template(recipe, lambda dataset: None)
    assert one != other
    assert other_tags(one, other) == []


COMPRESSES = ("deflate", "zstd", "lzw", "jpeg")


@pytest.mark.parametrize("compress", COMPRESSES)
def test_a_sound_mosaic_passes(compress: str) -> None:
    mask = np.full(PIXELS.shape[1:], 255, np.uint8)
    mask[:150] = 0
    recipe = recipe_for(PIXELS, 128, block_size=128, compress=compress, has_mask=True)
    data = tile_job(PIXELS, recipe, mask).mosaic()
    check_sample(lambda at, n: data[at : at + n], len(data), recipe, "it")


@pytest.mark.parametrize("compress", ["webp", "lerc"])
def test_a_codec_may_leave_out_an_alpha_that_tells_nothing(compress: str) -> None:
    pixels = noise("uint8", (4, 128, 128))
    pixels[-1] = 255
    recipe = recipe_for(pixels, 128, block_size=128, compress=compress)
    template = make_template(recipe, _last_is_alpha)
    data = encode_tile(pixels, None, recipe.tiling().window(0), recipe, template).data
    check_sample(lambda at, n: data[at : at + n], len(data), recipe, "it")


def _last_is_alpha(dataset: Any) -> None:
    others = [ColorInterp.undefined] * (dataset.count - 2)
    dataset.colorinterp = [ColorInterp.gray, *others, ColorInterp.alpha]


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([0, 1, 2]), st.integers(0, 7))
def test_a_block_that_does_not_decode_is_named(level: int, bit: int) -> None:
    recipe = recipe_for(PIXELS, 128, block_size=128)
    data = bytearray(tile_job(PIXELS, recipe).mosaic())
    tiling = recipe.tiling()
    shapes = [level_shape(recipe, *tiling.size_at(k)) for k in range(tiling.last_level + 1)]
    arrays = block_arrays(ifd.parse(bytes(data)), shapes)[level]
    index = len(arrays.sizes) // 2
    data[int(arrays.offsets[index] + arrays.sizes[index] - 2)] ^= 1 << bit
    with pytest.raises(IncompleteError, match=f"it, level {level}, block .*: it does not decode"):
        check_sample(lambda at, n: bytes(data[at : at + n]), len(data), recipe, "it")


def test_other_bytes_in_its_place_are_no_mosaic() -> None:
    recipe = recipe_for(PIXELS, 128, block_size=128)
    data = b"not a raster" * 1000
    with pytest.raises(IncompleteError, match="it is no mosaic of the job"):
        check_sample(lambda at, n: data[at : at + n], len(data), recipe, "it")
