"""One window repaired: inspected, compared with its source where need be, mended or replaced."""

import hashlib
from typing import Final

from rasterio.errors import RasterioError

from scenemosaic.auditing.trail import Trail
from scenemosaic.divergence import read_tile, same_pixels
from scenemosaic.errors import ForeignObject, IncompleteError, SourceReadError
from scenemosaic.repair.nodata_tile import job_template, nodata_tile
from scenemosaic.repair.outcome import WindowRepair
from scenemosaic.repair.replacing import Target
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.tiff.template import other_tags, template_from_header
from scenemosaic.tile import EncodedTile
from scenemosaic.verification.findings import Kind, WindowState
from scenemosaic.verification.inspection import inspect_as_it_stands
from scenemosaic.windows import make_tile

# An object with one of these is written again, even where its pixels are right.
_UNSOUND: Final = frozenset({Kind.METADATA, Kind.FOREIGN, Kind.UNDECODABLE})


def repair_window(
    found: Trail[Session], spec: JobSpec, number: int, run: Run, *, named: bool
) -> WindowRepair:
    """Repair the window if it is wrong, or ``named`` and other than its source makes it.

    Where only the row can be wrong, the source is not read. A waiver is kept, and its
    nodata made again, unless the window is named: that clears it. Raises StoreErrors that
    outlast their retries.
    """
    state = inspect_as_it_stands(found.session, spec, number)
    target = Target(found, spec, run, state)
    if not state.findings and not named:
        return target.outcome(target.as_it_was, detail="in order by the time it was looked at")
    if state.is_blocked:
        return target.outcome("blocked", detail=target.what_was_wrong)
    try:
        return _repair(target, named=named)
    except SourceReadError as error:
        return target.outcome("failed", detail=str(error))
    except IncompleteError:  # another version than the inspected one was met
        return target.lost()


def _repair(target: Target, *, named: bool) -> WindowRepair:
    state = target.state
    waiver = None if state.row is None or named else state.row.waiver
    if only_row_is_wrong(state, named=named):
        return target.mend(_standing_tile(target), waiver, made=False)
    tile = _make(target, waiver)
    standing = _same_as(target, tile)
    if standing is None:
        return target.replace(tile, waiver)
    return target.mend(standing, waiver, made=True)


def only_row_is_wrong(state: WindowState, *, named: bool) -> bool:
    """Whether the row alone is to be mended, without a look at the source. Pure.

    Nodata that a waiver left is no proof of the source's pixels.
    """
    if not state.findings or not state.object_is_right or state.info is None:
        return False
    if state.row is not None and state.row.waiver is not None:
        return not named
    return "waived" not in state.info.metadata


def _make(target: Target, waiver: str | None) -> EncodedTile:
    if waiver is None:
        return make_tile(target.spec, target.window)
    template = job_template(target.session, target.spec)
    return nodata_tile(target.window, target.spec.plan.recipe, template)


def _standing_tile(target: Target) -> EncodedTile:
    recipe = target.spec.plan.recipe
    return read_tile(target.standing_bytes(), target.window, recipe, target.uri)


def _same_as(target: Target, tile: EncodedTile) -> EncodedTile | None:
    """The standing tile, where it is sound and holds the same pixels as ``tile``."""
    state = target.state
    if state.info is None or any(one.kind in _UNSOUND for one in state.findings):
        return None
    data = target.standing_bytes()
    if hashlib.sha256(data).hexdigest() == tile.sha256:
        return tile
    try:
        standing = read_tile(data, target.window, target.spec.plan.recipe, target.uri)
        fits = not other_tags(template_from_header(tile.data), template_from_header(data))
        return standing if fits and same_pixels(tile.data, data) else None
    except (ForeignObject, RasterioError):
        return None
