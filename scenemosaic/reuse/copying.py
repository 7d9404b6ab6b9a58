"""A tile of an earlier job becomes one of this job: copied inside the store, under a condition."""

import functools
import logging
from dataclasses import dataclass, replace
from itertools import accumulate

from scenemosaic import keys
from scenemosaic.committing.commit import Committed, commit_composed
from scenemosaic.crc32 import crc32_combine
from scenemosaic.errors import IncompleteError
from scenemosaic.grids.grid import Window
from scenemosaic.job_rows import row_of
from scenemosaic.machine.software import LOSSY_CODEC, software_versions
from scenemosaic.manifests.port import Row
from scenemosaic.mosaic.stitch import StoredTile, stored_tile
from scenemosaic.places import Place
from scenemosaic.plans.plan import Plan
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.recipes.recipe_rules import LOSSY
from scenemosaic.reuse.likeness import is_same
from scenemosaic.session import JobSpec, Run, Session
from scenemosaic.stored_plan import read_plan
from scenemosaic.stores.port import CopyRun, IfAbsent
from scenemosaic.tiff.ifd import BadTiff
from scenemosaic.tiff.runs import run_bytes

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Copied:
    """A window whose tile was taken over: how its commit went, and its row here."""

    committed: Committed
    row: Row


def copy_tile(session: Session, spec: JobSpec, number: int, run: Run) -> Copied | None:
    """Take a window's tile over from ``spec.reuse``, or None where it has to be computed.

    Nothing is read of any source. The store compares ETag and CRC-32 with the earlier row;
    an object that is another by now is left alone. Raises what a commit raises.
    """
    if spec.reuse is None:
        return None
    old = replace(spec, plan=_plan(spec.place, spec.reuse), reuse=None)
    window = spec.plan.recipe.tiling().window(number)
    if not is_same(spec.plan, old.plan, window):
        return None
    tile = _tile(session, old, number, window)
    if tile is None:
        return None
    try:
        committed = _commit(session, spec, window, tile, run)
    except IncompleteError as error:  # it is gone, or another one stands there
        _log.warning("window %s is computed, not taken over: %s", window.name, error)
        return None
    stored = committed.stored
    if (stored.metadata.get("sha256"), stored.size_bytes) != (tile.row.sha256, tile.row.bytes):
        return None  # somebody else computed it: compared as any other
    return Copied(committed, _row(session, spec, number, tile.row, committed, run))


@functools.lru_cache(maxsize=8)
def _plan(place: Place, job_id: str) -> Plan:
    return read_plan(place, job_id)


def _tile(session: Session, old: JobSpec, number: int, window: Window) -> StoredTile | None:
    """The tile as its row has it, where that row is one of pixels that this version makes."""
    row, recipe = row_of(session, old, number), old.plan.recipe
    if row is None or row.sha256 is None or row.waiver is not None or not _same_codec(row, recipe):
        return None
    try:
        return stored_tile(old.plan.job_id, window, row, recipe)
    except (IncompleteError, BadTiff):  # the row lacks something, or contradicts itself
        return None


def _same_codec(row: Row, recipe: Recipe) -> bool:
    now = software_versions().get(LOSSY_CODEC)
    return recipe.compress not in LOSSY or row.software.get(LOSSY_CODEC) == now


def _commit(
    session: Session, spec: JobSpec, window: Window, tile: StoredTile, run: Run
) -> Committed:
    whole = CopyRun(tile.key, tile.row.etag, 0, tile.row.bytes, _crc(tile))
    return commit_composed(
        session.store,
        keys.tile_key(spec.plan.job_id, window.name),
        [whole],
        IfAbsent(),
        keys.TIFF_CONTENT_TYPE,
        session.metadata(spec, run, window.name, sha256=tile.row.sha256 or ""),
        session.policy,
        session.effects,
    )


def _crc(tile: StoredTile) -> int | None:
    """The CRC-32 of the whole tile: its header, then its runs, the smallest level first."""
    if tile.header_crc is None:
        return None
    runs = [
        (crc, run_bytes(sizes, tile.frame_bytes))
        for crc, sizes in zip(tile.row.crc, tile.sizes, strict=True)
    ]
    *_, whole = accumulate(reversed(runs), _joined, initial=(tile.header_crc, tile.header_bytes))
    return whole[0]


def _joined(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    crc = crc32_combine(first[0], second[0], second[1])
    return int(crc), first[1] + second[1]


def _row(
    session: Session, spec: JobSpec, number: int, row: Row, committed: Committed, run: Run
) -> Row:
    stored = committed.stored
    return replace(
        row,
        partition=session.partition(spec, number),
        output_uri=session.store.object_uri(stored.key),
        etag=stored.etag,
        version_id=stored.version_id,
        revision=1,
        written_by=run.written_by,
        written_at=session.now(),
    )
