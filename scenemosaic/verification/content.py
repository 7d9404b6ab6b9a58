"""What the bytes of a tile say of themselves, read once, in chunks."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scenemosaic.crc32 import crc32_combine
from scenemosaic.grids.grid import Window
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.recipes.seed import tile_recipes
from scenemosaic.tiff.block_check import Decoder
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.runs import Sizes, row_bytes
from scenemosaic.tiff.structure import (
    BlockArrays,
    block_arrays,
    check_tile,
    front_bytes,
    read_directories,
)
from scenemosaic.tiff.template import template_from_directories
from scenemosaic.tile import window_shapes
from scenemosaic.verification.blocks import pass_run
from scenemosaic.verification.reading import CHUNK_BYTES, Read, Stream


@dataclass(frozen=True, slots=True)
class TileContent:
    """A tile as its bytes are: ``sizes`` and ``crc`` by level, level 0 first.

    ``row_crcs`` are those of the block rows of all levels.
    ``problem`` says why they are no tile of the window; nothing is known of its levels
    then. ``undecodable`` names blocks, in deep verification alone.
    """

    sha256: str
    sizes: tuple[Sizes, ...] = ()
    crc: tuple[int, ...] = ()
    row_crcs: tuple[int, ...] = ()
    header_crc: int = 0
    problem: str | None = None
    undecodable: tuple[str, ...] = ()


def read_tile(
    read: Read, size_bytes: int, window: Window, recipe: Recipe, *, deep: bool
) -> TileContent:
    """The tile of ``window`` whose bytes ``read(offset, size)`` gives."""
    first = read(0, min(size_bytes, CHUNK_BYTES))
    digest = hashlib.sha256()
    stream = Stream(read, 0, size_bytes, first, digest)
    try:
        levels, decoders = _structure(read, first, size_bytes, window, recipe)
    except BadTiff as error:
        stream.crc(size_bytes)
        return TileContent(digest.hexdigest(), problem=str(error))
    header_crc = stream.crc(front_bytes(levels, size_bytes))
    crc: list[int] = []
    row_crcs: list[int] = []
    wrong: list[str] = []
    for number, level in reversed(list(enumerate(levels))):
        rows, bad = _pass_rows(stream, level, decoders[number] if deep else None)
        crc.insert(0, _crc_of(rows, level))
        row_crcs[:0] = rows
        wrong += [f"level {number}, {block}" for block in bad]
    sizes = tuple(level.sizes for level in levels)
    proofs = tuple(crc), tuple(row_crcs), header_crc
    return TileContent(digest.hexdigest(), sizes, *proofs, None, tuple(wrong))


def _pass_rows(
    stream: Stream, level: BlockArrays, decoder: Decoder | None
) -> tuple[list[int], list[str]]:
    """The CRC-32 of each block row of the run that comes next, and what does not decode."""
    crcs, wrong = list[int](), list[str]()
    across = level.shape.across
    for start in range(0, level.sizes.size, across):
        indices = np.arange(start, start + across)
        crc, bad = pass_run(stream, level.shape, level.sizes[indices], decoder, indices)
        crcs.append(crc)
        wrong += bad
    return crcs, wrong


def _crc_of(row_crcs: Sequence[int], level: BlockArrays) -> int:
    """That of the whole run."""
    crc, shape = 0, level.shape
    lengths = row_bytes(level.sizes, shape.across, shape.frame_bytes).tolist()
    for row_crc, length in zip(row_crcs, lengths, strict=True):
        crc = crc32_combine(crc, row_crc, length)
    return crc


def _structure(
    read: Read, first: bytes, size_bytes: int, window: Window, recipe: Recipe
) -> tuple[list[BlockArrays], list[Decoder]]:
    def from_first(offset: int, length: int) -> bytes:
        end = offset + length
        return first[offset:end] if end <= len(first) else read(offset, length)

    shapes = window_shapes(window, recipe)
    directories = read_directories(from_first, size_bytes, shapes)
    levels = block_arrays(directories, shapes)
    check_tile(levels, size_bytes)
    template = template_from_directories(directories)
    return levels, [Decoder(coded, template) for coded in tile_recipes(recipe)]
