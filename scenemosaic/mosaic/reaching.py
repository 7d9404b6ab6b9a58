"""The levels above the tiles' own for kernels that reach beyond two by two pixels.

Each level is made from the whole of the one below it, read box by box with what lies
around the box, so that no seam differs. Runs are decoded as often as boxes touch
them, up to four times; only a few boxes are in memory at once.
"""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import count

import numpy as np

from scenemosaic.grids.grid import ceil_div
from scenemosaic.levels import halve
from scenemosaic.machine.parallel import in_parallel
from scenemosaic.mosaic.pieces import Mask, Piece, PieceLevel, Pixels, read_pieces
from scenemosaic.mosaic.top import AT_ONCE, Box, Made, TopMaker
from scenemosaic.recipes.recipe_rules import LOSSY
from scenemosaic.recipes.seed import exact_recipe
from scenemosaic.tile import level_shape

_Span = tuple[int, int]


def reaching_levels(maker: TopMaker, base: PieceLevel, first: int, last: int) -> list[PieceLevel]:
    """The levels ``first`` + 1 to ``last``, where ``base`` is the level ``first``."""
    levels: list[PieceLevel] = []
    tell = _counting(maker, base.run_size, range(first + 1, last + 1))
    make = _made if maker.seeds is None else _sown
    for number in range(first + 1, last + 1):
        made = partial(make, maker, base)
        level, base = _next_level(maker, made, base.run_size, number, tell)
        levels.append(level)
        make = _made
    return levels


def _next_level(
    maker: TopMaker,
    make: Callable[[Box], Made],
    size: int,
    number: int,
    tell: Callable[[], None],
) -> tuple[PieceLevel, PieceLevel]:
    """A level, and what the next one is made of: the same, where its codec is exact."""
    exact = exact_recipe(maker.recipe, maker.recipe.block_size)
    lossy = maker.seeds is not None and maker.recipe.compress in LOSSY
    pieces, base = list[Piece](), list[Piece]()
    shape = level_shape(maker.recipe, *maker.recipe.tiling().size_at(number))
    rows, cols = _boxes(maker, size, number)
    boxes = (Box(1, row, col) for row in range(rows) for col in range(cols))
    for box, made in in_parallel(lambda box: (box, make(box)), boxes, AT_ONCE):
        maker.see(number, box.row * size, box.col * size, made.pixels, made.mask)
        pieces.append(maker.piece(made, box, size))
        if lossy:
            base.append(maker.piece(maker.encoded(made.pixels, made.mask, exact), box, size))
        tell()
    level = PieceLevel(shape, size, pieces, maker.recipe)
    return level, PieceLevel(shape, size, base, exact) if lossy else level


def _boxes(maker: TopMaker, size: int, number: int) -> tuple[int, int]:
    """The rows and columns of a level's boxes."""
    height, width = maker.recipe.tiling().size_at(number)
    return ceil_div(height, size), ceil_div(width, size)


def _counting(maker: TopMaker, size: int, numbers: Iterable[int]) -> Callable[[], None]:
    """Tells of one more box of these levels each time that it is called."""
    total = sum(rows * cols for rows, cols in (_boxes(maker, size, one) for one in numbers))
    done = count(1)
    maker.told(0, total)
    return lambda: maker.told(next(done), total)


def _sown(maker: TopMaker, base: PieceLevel, box: Box) -> Made:
    """One box of the first level, whose pixels are the seeds'."""
    seeds = maker.seeds or base
    rows, cols = (
        range(2 * at, min(2 * at + 2, runs))
        for at, runs in ((box.row, seeds.run_rows), (box.col, seeds.run_cols))
    )
    return maker.encoded(*read_pieces(seeds, rows, cols, maker.template, maker.fetch))


def _made(maker: TopMaker, base: PieceLevel, box: Box) -> Made:
    """One box of the next level, from the pixels of ``base`` below it and around."""
    side, reach = 2 * base.run_size, maker.kernel.reach
    rows = _span(box.row * side, side, reach, base.shape.height)
    cols = _span(box.col * side, side, reach, base.shape.width)
    pixels, mask = halve(*_pixels(maker, base, rows, cols), maker.kernel)
    y, x = box.row * base.run_size - rows[0] // 2, box.col * base.run_size - cols[0] // 2
    height, width = ceil_div(base.shape.height, 2), ceil_div(base.shape.width, 2)
    inside = np.s_[
        y : y + min(base.run_size, height - box.row * base.run_size),
        x : x + min(base.run_size, width - box.col * base.run_size),
    ]
    # Kept beyond this call: without what lies around.
    kept = np.ascontiguousarray(pixels[:, *inside])
    return maker.encoded(kept, None if mask is None else np.ascontiguousarray(mask[inside]))


def _span(start: int, length: int, reach: int, end: int) -> _Span:
    return max(start - reach, 0), min(start + length + reach, end)


def _pixels(
    maker: TopMaker, level: PieceLevel, rows: _Span, cols: _Span
) -> tuple[Pixels, Mask | None]:
    """The pixels of any box of a level, and its mask; one run is decoded at a time."""
    size, recipe = level.run_size, maker.recipe
    shape = rows[1] - rows[0], cols[1] - cols[0]
    pixels: Pixels = np.empty((recipe.bands, *shape), recipe.dtype)
    mask = np.empty(shape, np.uint8) if recipe.has_mask else None
    for row in range(rows[0] // size, ceil_div(rows[1], size)):
        for col in range(cols[0] // size, ceil_div(cols[1], size)):
            run = range(row, row + 1), range(col, col + 1)
            part, bits = read_pieces(level, *run, maker.template, maker.fetch)
            down, up = _overlap(row * size, part.shape[1], rows)
            across, left = _overlap(col * size, part.shape[2], cols)
            pixels[:, down, across] = part[:, up, left]
            if mask is not None and bits is not None:
                mask[down, across] = bits[up, left]
    return pixels, mask


def _overlap(start: int, length: int, span: _Span) -> tuple[slice, slice]:
    """Where a run of ``length`` at ``start`` lies within ``span``, and what of the run does."""
    first, last = max(start, span[0]), min(start + length, span[1])
    return slice(first - span[0], last - span[0]), slice(first - start, last - start)
