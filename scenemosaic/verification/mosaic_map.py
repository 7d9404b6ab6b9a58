"""Where a mosaic's runs lie, by its own directories, and which rows they must agree with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from scenemosaic.grids.grid import Tiling, ceil_div
from scenemosaic.manifests.port import Row
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.layout import LevelShape, Placed
from scenemosaic.tiff.runs import Sizes, unpack
from scenemosaic.tiff.structure import BlockArrays, check_inside, front_bytes, part
from scenemosaic.tile import level_shape, window_shapes

# The first top level's runs are the tiles' smallest runs, or up to so many times doubled, and
# those of each level above half of that: what boxes of some levels come to.
_DOUBLED: Final = 5


@dataclass(frozen=True, slots=True)
class Segment:
    """The stored blocks of a run: ``indices`` of a level, in the run's order.

    ``run`` is the number of the run on its grid: for the tiles' levels, the window's. Its
    bytes are those of ``extents`` (start, end): several, where the level is row-major.
    """

    level: int
    run: int
    extents: tuple[tuple[int, int], ...]
    indices: npt.NDArray[np.int64]
    sizes: Sizes

    @property
    def size_bytes(self) -> int:
        return sum(end - start for start, end in self.extents)

    @property
    def start(self) -> int:
        return self.extents[0][0]

    @property
    def end(self) -> int:
        return self.extents[-1][1]


@dataclass(frozen=True, slots=True)
class RunGrid:
    """A level cut into runs of ``run_size`` x ``run_size`` pixels, row-major."""

    shape: LevelShape
    run_size: int

    @property
    def rows(self) -> int:
        return ceil_div(self.shape.height, self.run_size)

    @property
    def cols(self) -> int:
        return ceil_div(self.shape.width, self.run_size)

    def placed(self, number: int, recipe: Recipe) -> Placed:
        """The run by its number; its sizes are not known here."""
        row, col = divmod(number, self.cols)
        size, blocks = self.run_size, self.run_size // self.shape.block_size
        height = min(size, self.shape.height - row * size)
        width = min(size, self.shape.width - col * size)
        shape = level_shape(recipe, height, width)
        return Placed(row * blocks, col * blocks, shape, np.zeros(shape.blocks, np.uint32))


class MosaicMap:
    """The runs of one mosaic file of ``size_bytes`` bytes. Raises BadTiff where it has none."""

    def __init__(self, recipe: Recipe, levels: Sequence[BlockArrays], size_bytes: int) -> None:
        check_inside(levels, size_bytes)
        self.recipe = recipe
        self.levels = levels
        self.front_bytes = front_bytes(levels, size_bytes)
        self._tiling: Tiling = recipe.tiling()
        self._numbers = [np.arange(level.sizes.size) for level in levels]
        self._in_rows = [level.is_one_run for level in levels]
        self._check_no_gaps(size_bytes)
        self.grids = [self._grids(level) for level in range(len(levels))]

    @property
    def tile_levels(self) -> int:
        """K: the levels 0..K are the tiles'."""
        return self._tiling.tile_levels

    def segments(self, level: int, grid: RunGrid) -> Iterator[Segment]:
        """The runs of a level that are not empty, in the order of their numbers."""
        for number in range(grid.rows * grid.cols):
            segment = self.segment(level, grid, number)
            if segment.indices.size:
                yield segment

    def segment(self, level: int, grid: RunGrid, number: int) -> Segment:
        """One run; BadTiff where its blocks do not lie one behind the other, nor row by row."""
        arrays = self.levels[level]
        placed = grid.placed(number, self.recipe)
        run = arrays.run(placed)
        extents = tuple(run.extents)
        if len(extents) > 1 and not self._in_rows[level]:
            raise BadTiff(f"run {number} of level {level} is torn apart")
        indices = part(arrays.shape, self._numbers[level], placed)
        stored = run.sizes > 0
        return Segment(level, number, extents, indices[stored], run.sizes[stored])

    def disagrees(self, number: int, row: Row) -> bool:
        """Whether the mosaic's block sizes in a window are not those of the window's row."""
        shapes = window_shapes(self._tiling.window(number), self.recipe)
        if row.blocks is None:
            return False
        try:
            stated = unpack(row.blocks, [shape.blocks for shape in shapes]).sizes
        except BadTiff:
            return False  # the row's fault: the tile's own inspection says so
        levels = enumerate(stated[: self.tile_levels + 1])
        return any((self._sizes(level, number) != sizes).any() for level, sizes in levels)

    def _sizes(self, level: int, window: int) -> Sizes:
        arrays = self.levels[level]
        placed = self.grids[level][0].placed(window, self.recipe)
        return part(arrays.shape, arrays.sizes, placed)

    def _grids(self, level: int) -> list[RunGrid]:
        """How the level may be cut: one way for the tiles' levels, else as the offsets allow."""
        shape, smallest = self.levels[level].shape, self._smallest
        if level <= self.tile_levels:
            return [RunGrid(shape, self._tiling.window_size >> level)]
        grids = [RunGrid(shape, smallest << doubled) for doubled in range(_DOUBLED)]
        fitting = {(g.rows, g.cols): g for g in grids if self._fits(level, g)}
        if not fitting:
            raise BadTiff(f"the blocks of level {level} do not lie as this pipeline stores them")
        return list(fitting.values())

    def ways(self) -> list[list[int]]:
        """How the levels may have been cut when the mosaic was made: the number of each grid."""
        found = {}
        for doubled in range(_DOUBLED):
            sizes = [
                self._smallest << max(doubled - up, 0)
                for up in range(len(self.levels) - self.tile_levels - 1)
            ]
            way = [self._grid_number(*one) for one in enumerate(sizes, self.tile_levels + 1)]
            if None not in way:
                found[tuple(way)] = [0] * (self.tile_levels + 1) + [one or 0 for one in way]
        return list(found.values())

    def _grid_number(self, level: int, run_size: int) -> int | None:
        wanted = RunGrid(self.levels[level].shape, run_size)
        cut = [(grid.rows, grid.cols) for grid in self.grids[level]]
        return cut.index((wanted.rows, wanted.cols)) if (wanted.rows, wanted.cols) in cut else None

    @property
    def _smallest(self) -> int:
        return self._tiling.window_size >> self.tile_levels

    def _fits(self, level: int, grid: RunGrid) -> bool:
        if self._in_rows[level]:
            return True
        end = None
        try:
            for segment in self.segments(level, grid):
                if end not in (None, segment.start):
                    return False
                end = segment.end
        except BadTiff:
            return False
        return True

    def _check_no_gaps(self, size_bytes: int) -> None:
        """All bytes behind the front are blocks, each of them once."""
        offsets = np.concatenate([level.offsets[level.sizes > 0] for level in self.levels])
        sizes = np.concatenate([level.sizes[level.sizes > 0] for level in self.levels])
        order = np.argsort(offsets)
        frame = self.recipe.frame_bytes
        starts = offsets[order].astype(np.int64) - frame // 2
        ends = starts + sizes[order] + frame
        bounds = np.concatenate([[self.front_bytes], ends])
        if (bounds[:-1] != starts).any() or bounds[-1] != size_bytes:
            raise BadTiff("its blocks overlap, or leave bytes that belong to none of them")
