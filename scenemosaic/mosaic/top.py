"""The levels above the tiles' own: computed from their seeds, in bounded memory.

In jobs without seeds (:mod:`scenemosaic.seed`) they are computed from the tiles' smallest
level. The runs are the leaves of a tree: four boxes make one of the next level. A box is
computed once the boxes below it are there, and then these are dropped, so no level is ever
whole in memory and none is decoded again. Boxes are computed side by side, a few at a time.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from scenemosaic.levels import Kernel, pyramid
from scenemosaic.mosaic.pieces import (
    Fetch,
    Mask,
    Piece,
    PieceLevel,
    Pixels,
    Scratch,
    read_pieces,
)
from scenemosaic.recipe import Recipe
from scenemosaic.recipe_rules import ITEM_SIZES
from scenemosaic.tiff.deflate import cheapest
from scenemosaic.tiff.layout import LevelShape, Placed, Template
from scenemosaic.tiff.runs import Run
from scenemosaic.tile import encode_run, kernel_of, level_shape

_LEAF_BYTES = 8 << 20
_MAX_STEP = 4
_AT_ONCE = 2

# Takes each box that is made: its level, its corner (y, x) there, pixels and mask.
See = Callable[[int, int, int, Pixels, Mask | None], None]


@dataclass(frozen=True, slots=True)
class Box:
    """A node of the tree: the run at (row, col) of the level ``up`` above the base."""

    up: int
    row: int
    col: int


@dataclass(frozen=True, slots=True)
class Made:
    """A box's pixels at one level, and the run that they were encoded to."""

    pixels: Pixels
    mask: Mask | None
    shape: LevelShape
    run: Run
    digest: str


@dataclass(frozen=True, slots=True)
class TopMaker:
    """What the top levels of one mosaic are made with; ``seeds`` are the first of them."""

    recipe: Recipe
    template: Template
    scratch: Scratch
    fetch: Fetch
    see: See
    seeds: PieceLevel | None = None

    @property
    def kernel(self) -> Kernel:
        return kernel_of(self.recipe, self.template)

    def levels(self, base: PieceLevel, first: int, last: int) -> list[PieceLevel]:
        """The levels ``first`` + 1 to ``last``, where ``base`` is the level ``first``."""
        if first == last:
            return []
        step = min(self._step(base), last - first)
        pieces: list[dict[tuple[int, int], Piece]] = [{} for _ in range(last - first)]
        for box, made in self._computed(base, step, last - first):
            for up, one in enumerate(made, box.up - len(made) + 1):
                size = _run_size(base, step, up)
                self.see(first + up, box.row * size, box.col * size, one.pixels, one.mask)
                pieces[up - 1][box.row, box.col] = self.piece(one, box, size)
        return [
            PieceLevel(
                level_shape(self.recipe, *self.recipe.tiling().size_at(first + up)),
                _run_size(base, step, up),
                [found[at] for at in sorted(found)],
                self.recipe,
            )
            for up, found in enumerate(pieces, 1)
        ]

    def piece(self, made: Made, box: Box, run_size: int) -> Piece:
        """The run of a box of ``run_size`` pixels, kept in the scratch file."""
        blocks = run_size // made.shape.block_size
        placed = Placed(box.row * blocks, box.col * blocks, made.shape, made.run.sizes)
        return Piece(placed, self.scratch.add(made.run), made.run.crc, made.digest)

    def _step(self, base: PieceLevel) -> int:
        """How many levels a leaf makes: as many as keep its pixels few, and at least one."""
        pixel_bytes = ITEM_SIZES[self.recipe.dtype] * self.recipe.bands
        step = 1
        while step < _MAX_STEP and (base.run_size << (step + 1)) ** 2 * pixel_bytes <= _LEAF_BYTES:
            step += 1
        return step

    def _computed(self, base: PieceLevel, step: int, ups: int) -> Iterator[tuple[Box, list[Made]]]:
        """Every box, those below before those above; only a few are in memory at once.

        A box waits for boxes that were handed over before it: threads never wait in a circle.
        """
        below: dict[Box, Future[list[Made]]] = {}
        waiting: deque[tuple[Box, Future[list[Made]]]] = deque()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for box in _boxes(base, step, ups):
                parts = [(part, below.pop(part)) for part in _parts(box) if part in below]
                if parts:
                    below[box] = pool.submit(self._above, parts)
                else:
                    below[box] = pool.submit(self._leaf, box, base)
                waiting.append((box, below[box]))
                if len(waiting) > _AT_ONCE:
                    yield _finished(waiting)
            while waiting:
                yield _finished(waiting)

    def _leaf(self, box: Box, base: PieceLevel) -> list[Made]:
        side = 1 << box.up
        rows = range(box.row * side, min((box.row + 1) * side, base.run_rows))
        cols = range(box.col * side, min((box.col + 1) * side, base.run_cols))
        pixels, mask = read_pieces(self.seeds or base, rows, cols, self.template, self.fetch)
        if self.seeds is None:
            return self._made(pixels, mask, box.up)
        return [self.encoded(pixels, mask), *self._made(pixels, mask, box.up - 1)]

    def _above(self, parts: Sequence[tuple[Box, Future[list[Made]]]]) -> list[Made]:
        rows: dict[int, list[Made]] = {}
        for box, part in parts:
            rows.setdefault(box.row, []).append(part.result()[-1])
        pixels = np.block([[made.pixels for made in row] for row in rows.values()])
        if not self.recipe.has_mask:
            return self._made(pixels, None, 1)
        return self._made(
            pixels, np.block([[made.mask for made in row] for row in rows.values()]), 1
        )

    def _made(self, pixels: Pixels, mask: Mask | None, levels: int) -> list[Made]:
        """The next ``levels`` levels of an image, the lowest first."""
        return [self.encoded(*image) for image in pyramid(pixels, mask, self.kernel, levels)[1:]]

    def encoded(self, pixels: Pixels, mask: Mask | None, recipe: Recipe | None = None) -> Made:
        """A box of a level as a run, of the mosaic's own recipe or another one."""
        recipe = recipe or self.recipe
        run = encode_run(pixels, mask, recipe, cheapest)
        shape = level_shape(recipe, *pixels.shape[1:])
        return Made(pixels, mask, shape, run, run.sha256())


def _boxes(base: PieceLevel, step: int, ups: int) -> Iterator[Box]:
    """All boxes, each after those that it is made of, up to the single one of the last level."""

    def under(box: Box) -> Iterator[Box]:
        if box.up > step:
            for part in _parts(box):
                if part.row << part.up < base.run_rows and part.col << part.up < base.run_cols:
                    yield from under(part)
        yield box

    return under(Box(ups, 0, 0))


def _parts(box: Box) -> list[Box]:
    """The boxes that make this one, row-major; some may lie outside the image."""
    row, col = 2 * box.row, 2 * box.col
    return [Box(box.up - 1, row + down, col + across) for down in (0, 1) for across in (0, 1)]


def _run_size(base: PieceLevel, step: int, up: int) -> int:
    """The edge of a run of the level ``up`` above the base, in pixels of that level."""
    return base.run_size << max(step - up, 0)


def _finished(waiting: deque[tuple[Box, Future[list[Made]]]]) -> tuple[Box, list[Made]]:
    box, made = waiting.popleft()
    return box, made.result()
