"""Somebody else's tile stands at the key: the same bytes, the same pixels, or neither."""

import hashlib
import logging
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import rasterio
from rasterio.errors import RasterioError
from rasterio.io import MemoryFile
from rasterio.session import DummySession

from scenemosaic.committing.commit import Committed, retrying
from scenemosaic.crc32 import crc32
from scenemosaic.errors import Diverged, ForeignObject
from scenemosaic.grids.grid import Window
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.session import JobSpec, Session
from scenemosaic.tiff import ifd
from scenemosaic.tiff.layout import LevelShape
from scenemosaic.tiff.runs import Sizes, row_bytes, run_bytes
from scenemosaic.tiff.template import other_tags, template_from_header
from scenemosaic.tile import EncodedTile, window_shapes
from scenemosaic.words import some

_log = logging.getLogger(__name__)


def adopt(
    session: Session, spec: JobSpec, window: Window, ours: EncodedTile, committed: Committed
) -> tuple[EncodedTile, int]:
    """What the row has to describe: the tile as stored. And 1 where its bytes are other ones.

    Other bytes of the same pixels are a warning with both checksums. Raises
    Diverged for other pixels, ForeignObject for an object that is no such tile.
    """
    stored = committed.stored
    theirs = stored.metadata.get("sha256")  # a composed object of ours has none
    if (theirs, stored.size_bytes) == (ours.sha256, len(ours.data)):
        return ours, 0
    uri = session.store.object_uri(stored.key)
    data = retrying(
        lambda: session.store.get(stored.key, etag=stored.etag), session.policy, session.effects
    )
    if hashlib.sha256(data).hexdigest() != theirs:
        raise ForeignObject(f"{uri}: its bytes are not those of its own checksum {theirs}")
    tile = read_tile(data, window, spec.plan.recipe, uri)
    if other := other_tags(template_from_header(ours.data), template_from_header(data)):
        raise Diverged(f"{uri} holds blocks with other {some(other)}: they do not fit one mosaic")
    if not _same_as_ours(ours.data, data, uri):
        raise Diverged(
            f"{uri} holds other pixels than this run computed for job {spec.plan.job_id}: "
            f"SHA-256 stored {theirs}, computed {ours.sha256}; the stored tile was kept"
        )
    _log.warning("%s: same pixels, other bytes: stored %s, computed %s", uri, theirs, ours.sha256)
    return tile, 1


def read_tile(data: bytes, window: Window, recipe: Recipe, uri: str) -> EncodedTile:
    """A tile described from its own bytes; ForeignObject where it is not laid out as ours."""
    shapes = window_shapes(window, recipe)
    try:
        sizes = _sizes(ifd.parse(data), shapes, uri)
    except ifd.BadTiff as error:
        raise ForeignObject(f"{uri} is no tile of this job: {error}") from error
    lengths = [run_bytes(level, recipe.frame_bytes) for level in sizes]
    ends = len(data) - np.cumsum([0, *lengths])
    if ends[-1] <= 0:
        raise ForeignObject(f"{uri} is not laid out as a tile of this job")
    bounds = [(start, end) for end, start in pairwise(ends.tolist())]
    crc = tuple(crc32(data[start:end]) for start, end in bounds)
    row_crcs = tuple(
        crc32(data[row_start:row_end])
        for (start, _), level, shape in zip(bounds, sizes, shapes, strict=True)
        for row_start, row_end in pairwise(_row_bounds(start, level, shape))
    )
    sha256 = hashlib.sha256(data).hexdigest()
    return EncodedTile(data, sha256, tuple(sizes), crc, row_crcs, int(ends[-1]))


def _row_bounds(start: int, sizes: Sizes, shape: LevelShape) -> list[int]:
    lengths = row_bytes(sizes, shape.across, shape.frame_bytes).tolist()
    return list(accumulate(lengths, initial=start))


def _sizes(
    directories: Sequence[ifd.Directory], shapes: Sequence[LevelShape], uri: str
) -> list[Sizes]:
    counts = [
        np.array(directory[ifd.TILE_BYTE_COUNTS].values(), np.uint32)
        for directory in directories
        if ifd.TILE_BYTE_COUNTS in directory
    ]
    per_level = 2 if shapes[0].has_mask else 1
    grouped = [np.concatenate(counts[i : i + per_level]) for i in range(0, len(counts), per_level)]
    if [level.size for level in grouped] != [shape.blocks for shape in shapes]:
        raise ForeignObject(f"{uri} does not have the levels and blocks of a tile of this job")
    return grouped


def _same_as_ours(ours: bytes, theirs: bytes, uri: str) -> bool:
    try:
        return same_pixels(ours, theirs)
    except RasterioError as error:
        raise ForeignObject(f"{uri} is no tile of this job: it cannot be decoded") from error


def same_pixels(one: bytes, other: bytes) -> bool:
    """Whether two tiles hold the same pixels and masks at every level."""
    # Without a session of its own, rasterio makes one of boto3's for every file in memory.
    with rasterio.Env(session=DummySession()):
        with MemoryFile(one) as left, left.open(driver="GTiff") as dataset:
            levels = len(dataset.overviews(1))
        return all(_same_level(one, other, level) for level in range(-1, levels))


def _same_level(one: bytes, other: bytes, level: int) -> bool:
    option = {} if level < 0 else {"overview_level": level}
    with (
        MemoryFile(one) as left,
        MemoryFile(other) as right,
        left.open(driver="GTiff", **option) as a,
        right.open(driver="GTiff", **option) as b,
    ):
        pixels_a, pixels_b = a.read(), b.read()
        inexact = pixels_a.dtype.kind in "fc"
        same_masks = np.array_equal(a.dataset_mask(), b.dataset_mask())
        return same_masks and np.array_equal(pixels_a, pixels_b, equal_nan=inexact)
