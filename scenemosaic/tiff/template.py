"""The tags that every file of a job shares, taken from a directory that GDAL wrote.

GDAL is asked once for an empty GeoTIFF with the recipe's creation options and the
source's metadata; geo keys, nodata, palettes and JPEG tables are thereby spelled
as every GDAL reader expects them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import rasterio
from rasterio.io import DatasetWriter, MemoryFile
from rasterio.session import DummySession

from scenemosaic.recipes.recipe import Recipe
from scenemosaic.recipes.seed import seed_recipe
from scenemosaic.tiff import ifd
from scenemosaic.tiff.codec import zstd_level
from scenemosaic.tiff.deflate import LIBDEFLATE_LEVEL, SMALL_LEVEL
from scenemosaic.tiff.ifd import BadTiff, Directory, Tag
from scenemosaic.tiff.layout import Template

# What differs between the files of a job: sizes, strips and tiles, subfile type.
_PER_FILE = frozenset(
    {ifd.NEW_SUBFILE_TYPE, ifd.IMAGE_WIDTH, ifd.IMAGE_LENGTH, 273, 278, 279}
    | {ifd.TILE_OFFSETS, ifd.TILE_BYTE_COUNTS}
)
# What GDAL calls the level of a codec.
_LEVEL = {
    "jpeg": "jpeg_quality",
    "webp": "webp_level",
    "deflate": "zlevel",
    "zstd": "zstd_level",
}
_ZLEVELS = {"fast": 1, "balanced": LIBDEFLATE_LEVEL, "small": SMALL_LEVEL}
_EXTRA_SAMPLES, _ASSOCIATED, _UNASSOCIATED = 338, 1, 2
# Every tag that a decoder goes by.
_DECODING: Mapping[int, str] = {
    258: "bits of a sample",
    259: "compression",
    262: "photometric interpretation",
    ifd.SAMPLES_PER_PIXEL: "bands",
    ifd.PLANAR_CONFIG: "interleave",
    317: "predictor",
    ifd.TILE_WIDTH: "block width",
    ifd.TILE_LENGTH: "block height",
    338: "extra bands",
    339: "sample format",
    347: "JPEG tables",
    530: "subsampling of colours",
    42113: "nodata",
    50674: "LERC parameters",
}


def make_template(recipe: Recipe, dress: Callable[[DatasetWriter], None]) -> Template:
    """The template of a recipe; ``dress`` puts the source's metadata on a new dataset."""
    seed = seed_recipe(recipe)
    return replace(_made(recipe, dress), seed=_made(seed, dress) if seed else None)


def _made(recipe: Recipe, dress: Callable[[DatasetWriter], None]) -> Template:
    with MemoryFile() as memory:
        with (
            rasterio.Env(DummySession(), GDAL_PAM_ENABLED=False),
            memory.open(**creation(recipe)) as dataset,
        ):
            dress(dataset)
        directories = ifd.parse(bytes(memory.getbuffer()))
    mask = mask_directory(recipe.block_size) if recipe.has_mask else None
    return Template(_shared(directories[0]), mask)


def creation(recipe: Recipe) -> dict[str, Any]:
    """Creation options of an empty GeoTIFF of one block, for rasterio."""
    options: dict[str, Any] = {
        "driver": "GTiff",
        "width": recipe.block_size,
        "height": recipe.block_size,
        "count": recipe.bands,
        "dtype": recipe.dtype,
        "nodata": recipe.nodata,
        "crs": recipe.grid.crs_wkt,
        "transform": rasterio.Affine(*recipe.grid.transform),
        "tiled": True,
        "blockxsize": recipe.block_size,
        "blockysize": recipe.block_size,
        "interleave": recipe.interleave,
        "sparse_ok": True,
    }
    if recipe.compress != "none":
        options["compress"] = recipe.compress
    if recipe.predictor != 1:
        options["predictor"] = recipe.predictor
    if recipe.nbits is not None:
        options["nbits"] = recipe.nbits
    if recipe.photometric is not None:
        options["photometric"] = recipe.photometric
    level = _level(recipe)
    if level is not None and recipe.compress in _LEVEL:
        options[_LEVEL[recipe.compress]] = level
    return options


def _level(recipe: Recipe) -> int | None:
    if recipe.compress == "zstd":
        return zstd_level(recipe.level, recipe.effort)
    if recipe.compress == "deflate" and recipe.level is None:
        return _ZLEVELS[recipe.effort]
    return recipe.level


def template_from_header(header: bytes) -> Template:
    """The template of a tile that we wrote, from the bytes in front of its data.

    Right to the last bit for the tile of the first window, whose origin is the mosaic's.
    """
    return template_from_directories(ifd.parse(header))


def template_from_directories(directories: Sequence[Directory]) -> Template:
    """The same from the tile's directories; the last one is its seed's, where it has one."""
    if not directories or ifd.TILE_WIDTH not in directories[0]:
        raise BadTiff("a tile without a tiled image")
    images = [directory for directory in directories if not _subfile(directory) & 4]
    masks = [directory for directory in directories if _subfile(directory) & 4]
    first, last = (
        Template(_shared(images[end]), _shared(masks[end]) if masks else None) for end in (0, -1)
    )
    return replace(first, seed=last)


def _subfile(directory: Directory) -> int:
    tag = directory.get(ifd.NEW_SUBFILE_TYPE)
    return int(tag.values()[0]) if tag else 0


def _shared(directory: Directory) -> dict[int, Tag]:
    return {code: tag for code, tag in directory.items() if code not in _PER_FILE}


def mask_directory(block_size: int) -> dict[int, Tag]:
    """The tags of a one-bit, deflated mask image, as GDAL's internal masks have them."""
    shorts = {258: 1, 259: 8, 262: 4, ifd.SAMPLES_PER_PIXEL: 1, ifd.PLANAR_CONFIG: 1, 339: 1}
    shorts |= {ifd.TILE_WIDTH: block_size, ifd.TILE_LENGTH: block_size}
    return {code: Tag.of(ifd.SHORT, [value]) for code, value in shorts.items()}


def alpha_band(template: Template) -> int | None:
    """The number (from 1) of the band that is alpha, or None."""
    extra = template.main.get(_EXTRA_SAMPLES)
    if extra is None:
        return None
    bands = int(template.main[ifd.SAMPLES_PER_PIXEL].values()[0])
    kinds = extra.values()
    for index, kind in enumerate(kinds):
        if kind in (_ASSOCIATED, _UNASSOCIATED):
            return bands - len(kinds) + index + 1
    return None


def other_tags(one: Template, other: Template) -> list[str]:
    """In what two files' blocks differ, for a decoder; by name."""
    pairs = [(one.main, other.main), (one.mask or {}, other.mask or {})]
    return [name for code, name in _DECODING.items() if any(_differ(code, *pair) for pair in pairs)]


def _differ(code: int, one: Directory, other: Directory) -> bool:
    here, there = one.get(code), other.get(code)
    if here is None or there is None:
        return here is not there
    return (here.type, here.data) != (there.type, there.data)
