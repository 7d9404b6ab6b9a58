"""Assembly: the stored tiles become one composed object. Only the top levels are computed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from scenemosaic.errors import IncompleteError
from scenemosaic.keys import MOSAIC_ROW
from scenemosaic.machine.memory import reuse_large_buffers
from scenemosaic.manifests.port import Row
from scenemosaic.mosaic.at_hand import at_hand
from scenemosaic.mosaic.box_bytes import NO_BOXES, StandingBoxes, ready_box
from scenemosaic.mosaic.contract import check_contract
from scenemosaic.mosaic.picture import Picture
from scenemosaic.mosaic.pieces import Fetch, Mask, PieceLevel, Pixels, read_pieces
from scenemosaic.mosaic.progress import Told, untold
from scenemosaic.mosaic.reaching import reaching_levels
from scenemosaic.mosaic.scratch import Scratch, scratch_file
from scenemosaic.mosaic.stitch import Stitched, StoredTile, stitch, stored_tile, tile_levels
from scenemosaic.mosaic.top import AT_ONCE, TopMaker
from scenemosaic.mosaic.top_boxes import box_levels, top_boxes
from scenemosaic.plans.plan import Plan
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.recipes.seed import tile_recipes
from scenemosaic.stores.port import Copying, CopyRun, FileSlice, Literal, Segment
from scenemosaic.tiff.layout import Template
from scenemosaic.words import some

Get = Callable[[str, int, int, str], bytes]
_FINELY: Final = Copying()


@dataclass(frozen=True, slots=True)
class Assembled:
    """A mosaic ready to be composed; ``preview()`` draws the PNG of a small level of it."""

    stitched: Stitched
    preview: Callable[[], bytes]


def tiles_in_order(
    plan: Plan, rows: Iterable[Row], numbers: Sequence[int] | None = None
) -> list[StoredTile]:
    """The tiles of the windows ``numbers`` (of all), in their order.

    IncompleteError names windows without a row.
    """
    by_name = {row.window: row for row in rows if row.window != MOSAIC_ROW}
    tiling = plan.recipe.tiling()
    windows = [tiling.window(n) for n in (range(len(tiling)) if numbers is None else numbers)]
    missing = [window.name for window in windows if window.name not in by_name]
    if missing:
        raise IncompleteError(f"{len(missing)} windows have no manifest row: {some(missing)}")
    job_id = plan.job_id
    return [stored_tile(job_id, w, by_name[w.name], plan.recipe) for w in windows]


@contextmanager
def assembled(
    tiles: Sequence[StoredTile],
    recipe: Recipe,
    get: Get,
    boxes: StandingBoxes = NO_BOXES,
    copying: Copying = _FINELY,
    readers: int = 1,
    told: Told = untold,
) -> Iterator[Assembled]:
    """The mosaic of ``tiles``; its top levels lie in a scratch file while the context lasts.

    ``get(key, offset, size_bytes, etag)`` reads a range of a tile, or of one of ``boxes``, whose
    runs are taken over. ``copying`` is what the store says of copies; ``readers`` read of it at
    once. ``told`` hears how many boxes of the top levels are made, and of how many.
    """
    reuse_large_buffers()
    template = check_contract(tiles, recipe, partial(_part, get))
    tiling = recipe.tiling()
    levels = tile_levels(tiles, tile_recipes(recipe))
    seeds = levels.pop() if len(levels) > tiling.tile_levels + 1 else None
    with scratch_file() as scratch:
        near = at_hand(tiles, copying.least_bytes)
        fetch = near.fetching(_fetcher(get, scratch))
        picture = Picture(recipe, template, partial(_whole, tuple(levels), template, fetch))
        all_stand = len(boxes) == len(top_boxes(recipe))
        maker = TopMaker(
            recipe,
            template,
            scratch,
            fetch,
            picture.see,
            seeds,
            leaf_levels=box_levels(recipe),
            ready=partial(ready_box, boxes, recipe, get),
            at_once=max(AT_ONCE, readers) if all_stand else AT_ONCE,
            told=told,
        )
        make = partial(reaching_levels, maker) if maker.kernel.reach else maker.levels
        levels += make(levels[-1], tiling.tile_levels, tiling.last_level)
        filled = [near.filled(level) for level in levels]
        yield Assembled(stitch(template, filled, copying), picture.png)


def _part(get: Get, tile: StoredTile, offset: int, size_bytes: int) -> bytes:
    return get(tile.key, offset, size_bytes, tile.row.etag)


def _fetcher(get: Get, scratch: Scratch) -> Fetch:
    def fetch(segment: Segment) -> bytes:
        match segment:
            case CopyRun():
                return get(segment.key, segment.offset, segment.size_bytes, segment.etag)
            case FileSlice():
                return scratch.read(segment)
            case Literal():
                return segment.data

    return fetch


def _whole(
    levels: Sequence[PieceLevel], template: Template, fetch: Fetch, number: int
) -> tuple[Pixels, Mask | None]:
    level = levels[number]
    box = range(level.run_rows), range(level.run_cols)
    return read_pieces(level, *box, template, fetch)
