"""A look into a mosaic that was just composed, before anything leads to it.

What was copied was compared by CRC and length already; this decodes one block of every
level, and of its mask, from where the directories say that it lies.
"""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from scenemosaic.errors import IncompleteError
from scenemosaic.machine.parallel import in_parallel
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.tiff.block_check import Decoder, Undecodable
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.structure import (
    BlockArrays,
    block_arrays,
    block_name,
    check_inside,
    read_directories,
)
from scenemosaic.tiff.template import template_from_directories
from scenemosaic.tile import level_shape

_ADVICE: Final = "nothing leads to it yet: run verify --deep, then repair"

# ``read(offset, size_bytes)`` gives a range of the stored mosaic.
Read = Callable[[int, int], bytes]


def check_sample(read: Read, size_bytes: int, recipe: Recipe, name: str, readers: int = 1) -> None:
    """Raise IncompleteError, naming what of ``name`` is not as it should be.

    ``readers`` are as many as serve: one where reads need not be waited for.
    """
    tiling = recipe.tiling()
    shapes = [level_shape(recipe, *tiling.size_at(k)) for k in range(tiling.last_level + 1)]
    try:
        directories = read_directories(read, size_bytes, shapes)
        levels = block_arrays(directories, shapes)
        check_inside(levels, size_bytes)
    except BadTiff as error:
        raise IncompleteError(f"{name} is no mosaic of the job: {error}; {_ADVICE}") from error
    decoder = Decoder(recipe, template_from_directories(directories))
    chosen = ((k, level, index) for k, level in enumerate(levels) for index in _chosen(level))

    def check(one: tuple[int, BlockArrays, int]) -> None:
        number, level, index = one
        _check_block(level, index, decoder, read, f"{name}, level {number}")

    for _ in in_parallel(check, chosen, readers):
        pass


def _chosen(level: BlockArrays) -> Iterator[int]:
    """The middle one of the image's stored blocks, and of the mask's."""
    split = level.shape.image_blocks
    for start, end in ((0, split), (split, level.shape.blocks)):
        stored = start + np.flatnonzero(level.sizes[start:end])
        if stored.size:
            yield int(stored[len(stored) // 2])


def _check_block(level: BlockArrays, index: int, decoder: Decoder, read: Read, where: str) -> None:
    block = read(int(level.offsets[index]), int(level.sizes[index]))
    check = decoder.image if index < level.shape.image_blocks else decoder.mask
    try:
        check(block)
    except Undecodable as error:
        raise IncompleteError(
            f"{where}, {block_name(level.shape, index)}: {error}; {_ADVICE}"
        ) from error
