"""Assembly: the stored tiles become one composed object. Only the top levels are computed."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from scenemosaic.errors import IncompleteError
from scenemosaic.keys import MOSAIC_ROW
from scenemosaic.manifests.port import Row
from scenemosaic.mosaic.pieces import Fetch, Mask, PieceLevel, Pixels, Scratch, read_pieces
from scenemosaic.mosaic.stitch import Stitched, StoredTile, stitch, stored_tile, tile_level
from scenemosaic.mosaic.top import TopMaker
from scenemosaic.plan import Plan
from scenemosaic.recipe import Recipe
from scenemosaic.stores.port import CopyRun, FileSlice, Literal, Segment
from scenemosaic.tiff.layout import Template
from scenemosaic.tiff.template import template_from_header

Get = Callable[[str, int, int, str], bytes]
_PREVIEW_PIXELS = 1024


@dataclass(frozen=True, slots=True)
class Assembled:
    """A mosaic ready to be composed, and a small image of it for the preview."""

    stitched: Stitched
    template: Template
    preview: tuple[Pixels, Mask | None]


def tiles_in_order(plan: Plan, rows: Iterable[Row]) -> list[StoredTile]:
    """All tiles in the order of their windows; IncompleteError names windows without a row."""
    by_name = {row.window: row for row in rows if row.window != MOSAIC_ROW}
    windows = list(plan.recipe.tiling().windows())
    missing = [window.name for window in windows if window.name not in by_name]
    if missing:
        raise IncompleteError(f"{len(missing)} windows have no manifest row: {some(missing)}")
    return [stored_tile(plan.job_id, w, by_name[w.name], plan.recipe) for w in windows]


def some(names: Sequence[str], most: int = 8) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


@contextmanager
def assembled(tiles: Sequence[StoredTile], recipe: Recipe, get: Get) -> Iterator[Assembled]:
    """The mosaic of ``tiles``; its top levels lie in a scratch file while the context lasts.

    ``get(key, offset, size_bytes, etag)`` reads a range of a tile.
    """
    template = _template(tiles[0], get)
    tiling = recipe.tiling()
    levels = [tile_level(tiles, level, recipe) for level in range(tiling.tile_levels + 1)]
    with tempfile.NamedTemporaryFile(prefix="scenemosaic-") as file:
        scratch = Scratch(file.file, file.name)
        fetch = _fetcher(get, scratch)
        maker = TopMaker(recipe, template, scratch, fetch)
        levels += maker.levels(levels[-1], tiling.tile_levels, tiling.last_level)
        preview = _preview(levels, recipe, template, fetch)
        yield Assembled(stitch(template, levels), template, preview)


def _template(tile: StoredTile, get: Get) -> Template:
    return template_from_header(get(tile.key, 0, tile.header_bytes, tile.row.etag))


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


def _preview(
    levels: Sequence[PieceLevel], recipe: Recipe, template: Template, fetch: Fetch
) -> tuple[Pixels, Mask | None]:
    """The largest level that fits a preview, or the smallest that there is."""
    small = [lv for lv in levels if max(lv.shape.width, lv.shape.height) <= _PREVIEW_PIXELS]
    level = small[0] if small else levels[-1]
    return read_pieces(level, range(level.run_rows), range(level.run_cols), recipe, template, fetch)
