"""What parts make a mosaic on S3, from how large its runs are. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scenemosaic.explain.memory import pixel_bytes
from scenemosaic.grids.grid import ceil_div
from scenemosaic.mosaic.block_order import is_cheap
from scenemosaic.mosaic.top_boxes import box_levels
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.stores.s3_parts import (
    COPYING,
    GATHER_BYTES,
    MAX_COPY_BYTES,
    MAX_PARTS,
    MIN_PART_BYTES,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """About how many parts are copied in the store and how many are gathered and uploaded.

    ``gathered_runs``: runs of tiles that are read for it, of so many bytes.
    """

    copied: int
    uploaded: int
    gathered_runs: int
    gathered_bytes: int

    @property
    def count(self) -> int:
        return self.copied + self.uploaded

    @property
    def is_single_put(self) -> bool:
        """One upload needs no parts."""
        return self.copied == 0 and self.uploaded <= 1

    @property
    def in_two_stages(self) -> bool:
        """More parts than one upload takes."""
        return self.count > MAX_PARTS


def mosaic_parts(recipe: Recipe, ratio: float) -> Parts:
    """The parts where each block shrinks to ``ratio`` of its pixels' bytes."""
    tiling = recipe.tiling()
    copied, gathered_bytes, runs = 0, 0.0, 0
    for level in range(tiling.tile_levels + 1):
        for count, run_bytes in _copies(recipe, level, ratio):
            if run_bytes >= MIN_PART_BYTES:
                copied += count * ceil_div(run_bytes, MAX_COPY_BYTES)
            else:
                gathered_bytes += count * run_bytes
                runs += count
    above = range(tiling.tile_levels + 1, tiling.last_level + 1)
    uploaded_bytes = gathered_bytes + sum(level_raw_bytes(recipe, k) for k in above) * ratio
    return Parts(copied, 1 + int(uploaded_bytes // GATHER_BYTES), runs, int(gathered_bytes))


def _copies(recipe: Recipe, level: int, ratio: float) -> list[tuple[int, int]]:
    """How many runs, or block rows of them, of so many bytes a level is put together of."""
    runs = [(count, rows, round(raw * ratio)) for count, rows, raw in _runs(recipe, level)]
    rows = [(count * rows, run_bytes // rows) for count, rows, run_bytes in runs]
    counts, lengths = zip(*rows, strict=True)
    split = recipe.tiling().cols > 1 and is_cheap(np.repeat(lengths, counts), COPYING)
    return rows if split else [(count, run_bytes) for count, _, run_bytes in runs]


def _runs(recipe: Recipe, level: int) -> Iterator[tuple[int, int, int]]:
    """How many tiles have a run of so many block rows and bytes: those inside, and at the edges.

    Blocks are whole, also where the image ends within one; what is beyond it compresses well.
    """
    planes = 1 if recipe.interleave == "pixel" else recipe.bands
    tiling, block = recipe.tiling(), recipe.block_size
    for rows, height in _extents(tiling.height, tiling.window_size):
        for cols, width in _extents(tiling.width, tiling.window_size):
            down, across = ceil_div(height, block << level), ceil_div(width, block << level)
            pixels = ceil_div(height, 1 << level) * ceil_div(width, 1 << level)
            if recipe.compress == "none":
                pixels = down * across * block * block
            raw_bytes = pixels * pixel_bytes(recipe)
            yield rows * cols, planes * down, raw_bytes


def _extents(size: int, window: int) -> Iterator[tuple[int, int]]:
    """How many windows there are along a side of each length."""
    whole, rest = divmod(size, window)
    yield from ((count, length) for count, length in ((whole, window), (1, rest)) if length)


def level_raw_bytes(recipe: Recipe, level: int) -> int:
    """The pixels of a whole level of the mosaic."""
    height, width = recipe.tiling().size_at(level)
    return height * width * pixel_bytes(recipe)


def mosaic_raw_bytes(recipe: Recipe) -> int:
    """The pixels of all its levels."""
    return sum(level_raw_bytes(recipe, k) for k in range(recipe.tiling().last_level + 1))


def boxes_raw_bytes(recipe: Recipe) -> int:
    """The pixels of all top boxes; 0 where the mosaic has none."""
    first = recipe.tiling().tile_levels + 1
    return sum(level_raw_bytes(recipe, first + k) for k in range(box_levels(recipe) or 0))
