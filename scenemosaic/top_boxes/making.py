"""One box's bytes, from the seeds of its tiles."""

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from scenemosaic.errors import IncompleteError
from scenemosaic.machine.parallel import in_parallel
from scenemosaic.mosaic.box_bytes import BoxBytes, Get, box_bytes
from scenemosaic.mosaic.contract import check_contract
from scenemosaic.mosaic.pieces import PieceLevel
from scenemosaic.mosaic.scratch import Scratch
from scenemosaic.mosaic.stitch import StoredTile, tile_levels
from scenemosaic.mosaic.top import Box, Made, TopMaker
from scenemosaic.mosaic.top_boxes import exact_coding, exact_levels, size_below
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.recipes.seed import seed_recipe, tile_recipes
from scenemosaic.stores.port import CopyRun, Segment
from scenemosaic.tiff.runs import Run
from scenemosaic.tile import level_shape

# Seeds are short: a store far away is asked for several of them at once.
_AT_ONCE: Final = 8


def make_box(box: Box, tiles: Sequence[StoredTile], recipe: Recipe, get: Get) -> BoxBytes:
    """The box of these tiles, which are those of its windows, row-major.

    ``get`` is assembly's. Raises IncompleteError (BadTiff) naming a tile that is not as its row
    says.
    """

    def read(tile: StoredTile, offset: int, size_bytes: int) -> bytes:
        return get(tile.key, offset, size_bytes, tile.row.etag)

    template = check_contract(tiles, recipe, read)
    base, seeds = _base(recipe, box), _seeds(recipe, box, tiles)
    found = _fetched(seeds, get)
    maker = TopMaker(recipe, template, Scratch(io.BytesIO(), ""), found.__getitem__, _unseen, seeds)
    made = maker.leaf(Box(box.up, 0, 0), base)
    first = recipe.tiling().tile_levels + 1
    shown = [made[level - first] for level in exact_levels(recipe, box)]
    exact = [maker.encoded(one.pixels, one.mask, exact_coding(recipe)) for one in shown]
    return box_bytes(_runs(exact), _runs(made), [one.digest for one in made])


def _base(recipe: Recipe, box: Box) -> PieceLevel:
    """The box's part of the tiles' smallest level: where its seeds lie, without any runs."""
    level = recipe.tiling().tile_levels
    shape = level_shape(recipe, *size_below(recipe, box, level))
    return PieceLevel(shape, recipe.window_size >> level, (), recipe)


def _seeds(recipe: Recipe, box: Box, tiles: Sequence[StoredTile]) -> PieceLevel:
    coded, level = seed_recipe(recipe), recipe.tiling().tile_levels + 1
    if coded is None:
        raise IncompleteError("the tiles carry no seeds, and no box is made of them")
    shape = level_shape(coded, *size_below(recipe, box, level))
    return replace(tile_levels(tiles, tile_recipes(recipe))[level], shape=shape)


def _fetched(seeds: PieceLevel, get: Get) -> dict[Segment, bytes]:
    def fetch(run: CopyRun) -> tuple[Segment, bytes]:
        return run, get(run.key, run.offset, run.size_bytes, run.etag)

    sources = (piece.source for piece in seeds.pieces)
    runs = (source for source in sources if isinstance(source, CopyRun))
    return dict(in_parallel(fetch, runs, _AT_ONCE))


def _runs(made: Sequence[Made]) -> list[Run]:
    return [one.run for one in made if isinstance(one.run, Run)]


def _unseen(*_: object) -> None:
    """The preview is assembly's."""
