"""The levels above the tiles' own: computed from their smallest level, in bounded memory.

Boxes of 2^j x 2^j runs give the next j levels at once; the topmost of these is
the base of the next stage, so that no more than one box is ever decoded.
"""

from collections.abc import Iterator

from scenemosaic.grid import ceil_div
from scenemosaic.levels import Kernel, pyramid
from scenemosaic.mosaic.pieces import Fetch, Piece, PieceLevel, Scratch, read_pieces
from scenemosaic.recipe import Recipe
from scenemosaic.recipe_rules import ITEM_SIZES
from scenemosaic.tiff.layout import Placed, Template
from scenemosaic.tiff.template import alpha_band
from scenemosaic.tile import encode_run, level_shape

_BOX_BYTES = 32 << 20
_MAX_STEP = 4


def build_top(
    base: PieceLevel,
    last: int,
    first: int,
    recipe: Recipe,
    template: Template,
    scratch: Scratch,
    fetch: Fetch,
) -> list[PieceLevel]:
    """The levels ``first`` + 1 to ``last``, where ``base`` is the level ``first``."""
    levels: list[PieceLevel] = []
    while first < last:
        step = min(_step(base, recipe), last - first)
        levels += _stage(base, step, first, recipe, template, scratch, fetch)
        base, first = levels[-1], first + step
    return levels


def _step(base: PieceLevel, recipe: Recipe) -> int:
    """How many levels at once: as many as keep a decoded box within bounds, and at least one."""
    pixel_bytes = ITEM_SIZES[recipe.dtype] * recipe.bands
    step = 1
    while step < _MAX_STEP and (base.run_size << (step + 1)) ** 2 * pixel_bytes <= _BOX_BYTES:
        step += 1
    return step


def _stage(
    base: PieceLevel,
    step: int,
    first: int,
    recipe: Recipe,
    template: Template,
    scratch: Scratch,
    fetch: Fetch,
) -> list[PieceLevel]:
    size = recipe.tiling().size_at
    shapes = [level_shape(recipe, *size(first + up)) for up in range(1, step + 1)]
    kernel = Kernel(recipe.resampling, recipe.nodata, alpha_band(template))
    made: list[list[Piece]] = [[] for _ in shapes]
    for box_row, box_col, rows, cols in _boxes(base, step):
        pixels, mask = read_pieces(base, rows, cols, recipe, template, fetch)
        reduced = pyramid(pixels, mask, kernel, step)[1:]
        for up, (image, bits) in enumerate(reduced, 1):
            run = encode_run(image, bits, recipe)
            blocks = (base.run_size << step >> up) // recipe.block_size
            shape = level_shape(recipe, *image.shape[1:])
            placed = Placed(box_row * blocks, box_col * blocks, shape, run.sizes)
            made[up - 1].append(Piece(placed, scratch.add(run), run.crc, run.sha256()))
    return [
        PieceLevel(shape, base.run_size << step >> up, pieces)
        for up, (shape, pieces) in enumerate(zip(shapes, made, strict=True), 1)
    ]


def _boxes(base: PieceLevel, step: int) -> Iterator[tuple[int, int, range, range]]:
    side = 1 << step
    for box_row in range(ceil_div(base.run_rows, side)):
        rows = range(box_row * side, min((box_row + 1) * side, base.run_rows))
        for box_col in range(ceil_div(base.run_cols, side)):
            cols = range(box_col * side, min((box_col + 1) * side, base.run_cols))
            yield box_row, box_col, rows, cols
