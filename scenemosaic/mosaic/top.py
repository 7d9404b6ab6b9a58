"""The levels above the tiles' own: computed from their seeds, in bounded memory.

In jobs without seeds (:mod:`scenemosaic.recipes.seed`) they are computed from the tiles' smallest
level. The runs are the leaves of a tree: four boxes make one of the next level. A box is
computed once the boxes below it are there, and then these are dropped, so no level is ever
whole in memory and none is decoded again. Boxes are computed side by side, a few at a time.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from scenemosaic.dtypes import ITEM_SIZES
from scenemosaic.grids.grid import ceil_div
from scenemosaic.levels import Kernel, halve, pyramid
from scenemosaic.mosaic.pieces import (
    Fetch,
    Mask,
    Piece,
    PieceLevel,
    Pixels,
    read_pieces,
)
from scenemosaic.mosaic.progress import Told, untold
from scenemosaic.mosaic.scratch import Scratch
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.stores.port import CopyRun
from scenemosaic.tiff.deflate import unless_asked
from scenemosaic.tiff.layout import LevelShape, Placed, Template
from scenemosaic.tiff.runs import Crcs, Run, Sizes
from scenemosaic.tile import encode_run, kernel_of, level_shape

_LEAF_BYTES = 8 << 20
_MAX_STEP = 4
AT_ONCE: Final = 2

# Takes each box that is made: its level, its corner (y, x) there, pixels (bands, height, width)
# and mask (height, width; 255 where valid, None in a mosaic without one).
See = Callable[[int, int, int, Pixels, Mask | None], None]


@dataclass(frozen=True, slots=True)
class Box:
    """A node of the tree: the run at (row, col) of the level ``up`` above the base."""

    up: int
    row: int
    col: int


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run that lies in the store already, None where all its blocks are sparse."""

    source: CopyRun | None
    sizes: Sizes
    crc: int
    row_crcs: Crcs


@dataclass(frozen=True, slots=True)
class Made:
    """A box's pixels at one level, and the run that they were encoded to.

    ``pixels`` are (bands, height, width), ``mask`` is (height, width), 255 where valid, or None
    where the mosaic has none. Of a stored run they are there (not empty) where the next level
    or the preview needs them.
    """

    pixels: Pixels
    mask: Mask | None
    shape: LevelShape
    run: Run | StoredRun
    digest: str


Image = tuple[Pixels, Mask | None]


@dataclass(frozen=True, slots=True)
class _Grown:
    """A box's levels, and its part of the level above them; None at the top."""

    made: list[Made]
    share: Image | None


# A leaf's levels where somebody has made them already (:mod:`scenemosaic.top_boxes`).
Ready = Callable[[Box], list[Made] | None]


@dataclass(frozen=True, slots=True)
class TopMaker:
    """What the top levels of one mosaic are made with; ``seeds`` are the first of them.

    ``leaf_levels`` is how many levels a leaf makes, where that is not decided here; ``at_once``
    boxes are made side by side. ``told`` is called by the thread that asks for the levels.
    """

    recipe: Recipe
    template: Template
    scratch: Scratch
    fetch: Fetch
    see: See
    seeds: PieceLevel | None = None
    leaf_levels: int | None = None
    ready: Ready = lambda box: None
    at_once: int = AT_ONCE
    told: Told = untold

    @property
    def kernel(self) -> Kernel:
        return kernel_of(self.recipe, self.template)

    def levels(self, base: PieceLevel, first: int, last: int) -> list[PieceLevel]:
        """The levels ``first`` + 1 to ``last``, where ``base`` is the level ``first``."""
        if first == last:
            return []
        step = min(self.leaf_levels or self._step(base), last - first)
        pieces: list[dict[tuple[int, int], Piece]] = [{} for _ in range(last - first)]
        total = _count(base, step, last - first)
        self.told(0, total)
        for done, (box, made) in enumerate(self._computed(base, step, last - first), 1):
            for up, one in enumerate(made, box.up - len(made) + 1):
                size = _run_size(base, step, up)
                self.see(first + up, box.row * size, box.col * size, one.pixels, one.mask)
                pieces[up - 1][box.row, box.col] = self.piece(one, box, size)
            made.clear()  # what lies above is made of its share
            self.told(done, total)
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
        run = made.run
        if isinstance(run, StoredRun):
            return Piece(placed, run.source, run.crc, made.digest, run.row_crcs)
        return Piece(placed, self.scratch.add(run), run.crc, made.digest)

    def _step(self, base: PieceLevel) -> int:
        """How many levels a leaf makes: as many as keep its pixels few, and at least one."""
        pixel_bytes = ITEM_SIZES[self.recipe.dtype] * self.recipe.bands
        run_size = (self.seeds or base).run_size
        step = 1
        while step < _MAX_STEP and (run_size << (step + 1)) ** 2 * pixel_bytes <= _LEAF_BYTES:
            step += 1
        return step

    def _computed(self, base: PieceLevel, step: int, ups: int) -> Iterator[tuple[Box, list[Made]]]:
        """Every box, those below before those above; only a few are in memory at once.

        A box waits for boxes that were handed over before it: threads never wait in a circle.
        """
        below: dict[Box, Future[_Grown]] = {}
        waiting: deque[tuple[Box, Future[_Grown]]] = deque()
        with ThreadPoolExecutor(self.at_once) as pool:
            for box in _boxes(base, step, ups):
                parts = [(part, below.pop(part)) for part in _parts(box) if part in below]
                made = partial(self._above, parts) if parts else partial(self._leaf, box, base)
                below[box] = pool.submit(self._grown, made, is_last=box.up == ups)
                waiting.append((box, below[box]))
                if len(waiting) > self.at_once:
                    yield _finished(waiting)
            while waiting:
                yield _finished(waiting)

    def _grown(self, make: Callable[[], list[Made]], *, is_last: bool) -> _Grown:
        """What ``make`` makes, and its share of the level above, while it is at hand."""
        made = make()
        share = None if is_last else halve(made[-1].pixels, made[-1].mask, self.kernel)
        return _Grown(made, share)

    def _leaf(self, box: Box, base: PieceLevel) -> list[Made]:
        return self.ready(box) or self.leaf(box, base)

    def leaf(self, box: Box, base: PieceLevel) -> list[Made]:
        """The levels of a box that is made of runs of the base, or of its seeds: lowest first.

        Each has pixels (bands, height, width) and a mask (height, width), cut at the image's
        edges. Raises what :func:`scenemosaic.mosaic.pieces.read_pieces` raises.
        """
        side = 1 << box.up
        rows = range(box.row * side, min((box.row + 1) * side, base.run_rows))
        cols = range(box.col * side, min((box.col + 1) * side, base.run_cols))
        pixels, mask = read_pieces(self.seeds or base, rows, cols, self.template, self.fetch)
        if self.seeds is None:
            return self._made(pixels, mask, box.up)
        return [self.encoded(pixels, mask), *self._made(pixels, mask, box.up - 1)]

    def _above(self, parts: Sequence[tuple[Box, Future[_Grown]]]) -> list[Made]:
        rows: dict[int, list[Image]] = {}
        for box, part in parts:
            share = part.result().share
            if share is not None:
                rows.setdefault(box.row, []).append(share)
        pixels = np.block([[pixels for pixels, _ in row] for row in rows.values()])
        if not self.recipe.has_mask:
            return [self.encoded(pixels, None)]
        return [
            self.encoded(pixels, np.block([[mask for _, mask in row] for row in rows.values()]))
        ]

    def _made(self, pixels: Pixels, mask: Mask | None, levels: int) -> list[Made]:
        """The next ``levels`` levels of an image, the lowest first."""
        return [self.encoded(*image) for image in pyramid(pixels, mask, self.kernel, levels)[1:]]

    def encoded(self, pixels: Pixels, mask: Mask | None, recipe: Recipe | None = None) -> Made:
        """A box of a level as a run, of the mosaic's own recipe or another one.

        ``pixels`` are (bands, height, width) of the recipe's type, ``mask`` is (height, width).
        """
        recipe = recipe or self.recipe
        run = encode_run(pixels, mask, recipe, unless_asked)
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


def _count(base: PieceLevel, step: int, ups: int) -> int:
    """How many boxes there are."""
    sides = (1 << up for up in range(step, ups + 1))
    return sum(ceil_div(base.run_rows, side) * ceil_div(base.run_cols, side) for side in sides)


def _parts(box: Box) -> list[Box]:
    """The boxes that make this one, row-major; some may lie outside the image."""
    row, col = 2 * box.row, 2 * box.col
    return [Box(box.up - 1, row + down, col + across) for down in (0, 1) for across in (0, 1)]


def _run_size(base: PieceLevel, step: int, up: int) -> int:
    """The edge of a run of the level ``up`` above the base, in pixels of that level."""
    return base.run_size << max(step - up, 0)


def _finished(waiting: deque[tuple[Box, Future[_Grown]]]) -> tuple[Box, list[Made]]:
    box, grown = waiting.popleft()
    return box, grown.result().made
