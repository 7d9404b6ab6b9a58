"""The levels above the tiles' own: computed from their smallest level, in bounded memory.

Boxes of 2^j x 2^j runs give the next j levels at once; the topmost of these is
the base of the next stage. Boxes are computed side by side, a few at a time.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from scenemosaic.grid import ceil_div
from scenemosaic.levels import Kernel, pyramid
from scenemosaic.mosaic.pieces import Fetch, Piece, PieceLevel, Scratch, read_pieces
from scenemosaic.recipe import Recipe
from scenemosaic.recipe_rules import ITEM_SIZES
from scenemosaic.tiff.deflate import cheapest
from scenemosaic.tiff.layout import LevelShape, Placed, Template
from scenemosaic.tiff.runs import Run
from scenemosaic.tiff.template import alpha_band
from scenemosaic.tile import encode_run, level_shape

_BOX_BYTES = 8 << 20
_MAX_STEP = 4
_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Box:
    """Some runs of a base level: the box's place among all boxes, and its rows and columns."""

    row: int
    col: int
    rows: range
    cols: range


@dataclass(frozen=True, slots=True)
class TopMaker:
    """What the top levels of one mosaic are made with."""

    recipe: Recipe
    template: Template
    scratch: Scratch
    fetch: Fetch

    def levels(self, base: PieceLevel, first: int, last: int) -> list[PieceLevel]:
        """The levels ``first`` + 1 to ``last``, where ``base`` is the level ``first``."""
        levels: list[PieceLevel] = []
        while first < last:
            step = min(self._step(base), last - first)
            levels += self._stage(base, step, first)
            base, first = levels[-1], first + step
        return levels

    def _step(self, base: PieceLevel) -> int:
        """How many levels at once: as many as keep a decoded box small, and at least one."""
        pixel_bytes = ITEM_SIZES[self.recipe.dtype] * self.recipe.bands
        step = 1
        while step < _MAX_STEP and (base.run_size << (step + 1)) ** 2 * pixel_bytes <= _BOX_BYTES:
            step += 1
        return step

    def _stage(self, base: PieceLevel, step: int, first: int) -> list[PieceLevel]:
        sizes = [base.run_size << step >> up for up in range(1, step + 1)]
        made: list[list[Piece]] = [[] for _ in sizes]
        for box, runs in self._computed(base, step):
            for pieces, size, (shape, run) in zip(made, sizes, runs, strict=True):
                blocks = size // self.recipe.block_size
                placed = Placed(box.row * blocks, box.col * blocks, shape, run.sizes)
                pieces.append(Piece(placed, self.scratch.add(run), run.crc, run.sha256()))
        return [
            PieceLevel(self._shape(first + up), size, pieces)
            for up, (size, pieces) in enumerate(zip(sizes, made, strict=True), 1)
        ]

    def _shape(self, level: int) -> LevelShape:
        return level_shape(self.recipe, *self.recipe.tiling().size_at(level))

    def _computed(
        self, base: PieceLevel, step: int
    ) -> Iterator[tuple[Box, list[tuple[LevelShape, Run]]]]:
        """Each box with its runs, in order; no more than a few are in memory at once."""
        waiting: deque[tuple[Box, Future[list[tuple[LevelShape, Run]]]]] = deque()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for box in _boxes(base, step):
                waiting.append((box, pool.submit(self._reduced, base, step, box)))
                if len(waiting) > _AT_ONCE:
                    yield _finished(waiting.popleft())
            yield from map(_finished, waiting)

    def _reduced(self, base: PieceLevel, step: int, box: Box) -> list[tuple[LevelShape, Run]]:
        recipe = self.recipe
        kernel = Kernel(recipe.resampling, recipe.nodata, alpha_band(self.template))
        pixels, mask = read_pieces(base, box.rows, box.cols, recipe, self.template, self.fetch)
        return [
            (level_shape(recipe, *image.shape[1:]), encode_run(image, bits, recipe, cheapest))
            for image, bits in pyramid(pixels, mask, kernel, step)[1:]
        ]


def _finished(
    one: tuple[Box, Future[list[tuple[LevelShape, Run]]]],
) -> tuple[Box, list[tuple[LevelShape, Run]]]:
    return one[0], one[1].result()


def _boxes(base: PieceLevel, step: int) -> Iterable[Box]:
    side = 1 << step
    for row in range(ceil_div(base.run_rows, side)):
        rows = range(row * side, min((row + 1) * side, base.run_rows))
        for col in range(ceil_div(base.run_cols, side)):
            cols = range(col * side, min((col + 1) * side, base.run_cols))
            yield Box(row, col, rows, cols)
