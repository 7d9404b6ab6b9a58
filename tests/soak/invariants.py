"""What must be true of a place once all is quiet: nothing lost, doubled or left open. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from scenemosaic import keys
from tests.soak.evidence import Stands, Version, Wanted

# Everything else below a root is the ledger's, the audit log's or preflight's.
CONTRACT = ("jobs", "tiles", "mosaics")
OTHERS = ("audit", "ledger", "preflight")
_REVISION = re.compile(r"mosaics/[0-9a-f]{32}/(?:r([1-9][0-9]*)/)?mosaic\.tif")


def violations(stands: Stands, wanted: Sequence[Wanted]) -> list[str]:
    """What is not as it must be, one line each, with the key or row that it is about."""
    found = [line for job in wanted for line in _job(stands, job)]
    found += _strangers(stands, wanted)
    found += [f"left open: the upload of {key}" for key in stands.uploads]
    return found


def replaced(stands: Stands) -> int:
    """How many tiles' versions took the place of damaged ones, where versions are kept."""
    tiles = [found for key, found in stands.history.items() if key.startswith("tiles/")]
    return sum(len(_ours(found)) - 1 for found in tiles)


def _job(stands: Stands, job: Wanted) -> Iterator[str]:
    yield from _once(stands, keys.plan_key(job.job_id), job)
    for window in job.windows:
        yield from _tile(stands, keys.tile_key(job.job_id, window), job)
    yield from _rows(stands, job)
    yield from _mosaics(stands, job)


def _once(stands: Stands, key: str, job: Wanted) -> Iterator[str]:
    """Written once, and what a back door put over it is nobody's but its own fault."""
    ours = _ours(stands.history.get(key, ()))
    if not ours:
        yield f"lost: {job.scene} has no {key}"
    elif len(ours) > 1:
        yield f"doubled: {key} has {len(ours)} versions of ours"


def _tile(stands: Stands, key: str, job: Wanted) -> Iterator[str]:
    history = stands.history.get(key, ())
    ours = _ours(history)
    if not history or history[-1].is_marker or not history[-1].ours:
        yield f"lost: {job.scene} has no tile {key}"
    if len({one.sha256 for one in ours}) > 1:
        yield f"doubled: {key} has versions of ours that differ"
    damages = len(history) - len(ours)
    # Whoever finds the row gone as well creates the tile, and replaces nothing.
    markers = sum(one.is_marker for one in history)
    legal = 1 + min(damages, stands.replacing.get(key, 0) + markers)
    if len(ours) > legal:
        yield (
            f"doubled: {key} has {len(ours)} versions of ours, where {damages} damages and "
            f"{stands.replacing.get(key, 0)} recorded repairs explain {legal}"
        )


def _rows(stands: Stands, job: Wanted) -> Iterator[str]:
    rows = [row for row in stands.rows if row.partition.startswith(job.job_id)]
    counts = Counter(row.window for row in rows)
    for window in (*job.windows, keys.MOSAIC_ROW):
        if counts[window] == 0:
            yield f"lost: no row {window} of {job.scene}"
        elif counts[window] > 1:
            yield f"doubled: {counts[window]} rows {window} of {job.scene}"
    for window in counts.keys() - {*job.windows, keys.MOSAIC_ROW}:
        yield f"stray: a row {window} of {job.scene}, which has no such window"
    for row in rows:
        last = stands.history.get(_key_of(row.output_uri), ())[-1:]
        if last and not _describes(last[0], row.sha256, row.version_id):
            yield f"lost: row {row.window} of {job.scene} describes another object than stands"


def _describes(version: Version, sha256: str | None, version_id: str | None) -> bool:
    same = sha256 is None or sha256 == version.sha256
    return same and (version_id is None or version_id == version.version_id)


def _mosaics(stands: Stands, job: Wanted) -> Iterator[str]:
    item_key = keys.item_key(job.job_id)
    leads_to = stands.items.get(job.job_id)
    if leads_to is None:
        yield f"lost: {job.scene} is not published: no {item_key}"
        return
    standing = stands.history.get(leads_to, ())
    if not standing or not standing[-1].ours:
        yield f"leads nowhere: {item_key} names {leads_to}, and no mosaic of ours stands there"
    elif stands.pixels.get(job.job_id) != job.pixels:
        yield f"lost: {leads_to} holds other pixels than {job.scene}"
    items = _ours(stands.history.get(item_key, ()))
    if any(one.sha256 == after.sha256 for one, after in pairwise(items)):
        yield f"doubled: {item_key} was written twice with the same content"
    made = [key for key in stands.history if key.startswith(f"mosaics/{job.job_id}/")]
    for key in sorted(set(made) - {item_key}):
        # One that was spoilt stays so where no versions are kept: nothing leads to it.
        if len(_ours(stands.history[key])) > 1:
            yield from _once(stands, key, job)
    newest = max((revision for key in made if (revision := _revision(key)) is not None), default=0)
    if (named := _revision(leads_to)) is not None and named < newest:
        yield f"left open: {job.scene} has a revision {newest}, and its item names {named}"


def _strangers(stands: Stands, wanted: Sequence[Wanted]) -> Iterator[str]:
    known = {job.job_id: job for job in wanted}
    for key in stands.history:
        kind, _, rest = key.partition("/")
        job_id, _, name = rest.partition("/")
        if kind in OTHERS:
            continue
        if kind not in CONTRACT or job_id not in known:
            yield f"stray: {key} is no job's of these scenes"
        elif kind == "tiles" and name.removesuffix(".tif") not in known[job_id].windows:
            yield f"stray: {key} is no window of {known[job_id].scene}"
    for job_id in {row.partition[:32] for row in stands.rows} - known.keys():
        yield f"stray: rows of {job_id}, which is no job of these scenes"


def _ours(history: Sequence[Version]) -> list[Version]:
    return [one for one in history if one.ours and not one.is_marker]


def _revision(key: str) -> int | None:
    found = _REVISION.fullmatch(key)
    return None if found is None else int(found[1] or 0)


def _key_of(uri: str) -> str:
    """The key below the root: every key of the contract begins with one of its first parts."""
    found = re.search(rf"/((?:{'|'.join(CONTRACT)})/[0-9a-f]{{32}}/.*)$", uri)
    return found[1] if found else uri
