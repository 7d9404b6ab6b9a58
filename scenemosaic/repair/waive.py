"""Waivers: an operator lets named windows hold nodata, where their source is bad for good."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from scenemosaic import keys
from scenemosaic.auditing import audit
from scenemosaic.auditing.audit import Record
from scenemosaic.auditing.trail import trail
from scenemosaic.committing.commit import Outcome, commit_object, commit_row
from scenemosaic.errors import ConflictError, InputError
from scenemosaic.job_rows import row_of
from scenemosaic.manifests.port import Existing, Row
from scenemosaic.next_step import command
from scenemosaic.repair.nodata_tile import job_template, nodata_tile
from scenemosaic.repair.replacing import WAIVED
from scenemosaic.repair.survey import numbers_of
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.stores.port import Body, IfAbsent
from scenemosaic.tile import EncodedTile
from scenemosaic.windows import tile_row

MAX_REASON: Final = 500


@dataclass(frozen=True, slots=True)
class Waived:
    """A window that holds nodata now; already-present where the same waiver stood there."""

    window: str
    outcome: Literal["written", "already-present"]


def waive(spec: JobSpec, names: Sequence[str], reason: str, run: Run) -> tuple[Waived, ...]:
    """Let the windows hold nodata for a reason, which row, audit log and item will say.

    Raises InputError for a window that the plan does not have or that has a row already,
    and for a reason that is none: then nothing was written. Raises ConflictError where a
    tile stands there.
    """
    reason = check_reason(reason)
    numbers = numbers_of(spec.plan.recipe.tiling(), names)
    with trail(open_session(spec), spec.plan.job_id, run, "window") as found:
        session = found.session
        done = _waived_before(session, spec, numbers, reason)
        wanted = [number for number in numbers if number not in done]
        if wanted:
            template = job_template(session, spec)
            records = [Record("waived", _key(spec, n), {"reason": reason}) for n in wanted]
            audit.append(found.plain, spec.plan.job_id, run, records)
        for number in wanted:
            window, recipe = spec.plan.recipe.tiling().window(number), spec.plan.recipe
            _commit(session, spec, number, nodata_tile(window, recipe, template), reason, run)
    return tuple(
        Waived(spec.plan.recipe.tiling().window(number).name, _outcome(number in done))
        for number in numbers
    )


def check_reason(text: str) -> str:
    """The reason without white space around it, or InputError."""
    reason = text.strip()
    if not 0 < len(reason) <= MAX_REASON or not reason.isprintable():
        raise InputError(
            f"a reason is 1 to {MAX_REASON} printable characters in one line, not {text!r:.80}"
        )
    return reason


def _outcome(before: bool) -> Literal["written", "already-present"]:
    return "already-present" if before else "written"


def _waived_before(
    session: Session, spec: JobSpec, numbers: Sequence[int], reason: str
) -> frozenset[int]:
    """The windows with this very waiver; InputError where one has another row."""
    rows = {number: row_of(session, spec, number) for number in numbers}
    there = {number: row for number, row in rows.items() if row is not None}
    others = [row for row in there.values() if row.waiver != reason]
    if others:
        raise InputError(
            f"{', '.join(map(_described, others))}: a window that has a row is not waived; "
            f"`{_repair(spec, [row.window for row in others])}` computes it again from its source"
        )
    return frozenset(there)


def _repair(spec: JobSpec, names: Sequence[str]) -> str:
    windows = [part for name in names for part in ("--window", name)]
    return command("repair", spec.plan.job_id, spec.place, *windows)


def _described(row: Row) -> str:
    return f"{row.window} (waived: {row.waiver})" if row.waiver else row.window


def _commit(
    session: Session, spec: JobSpec, number: int, tile: EncodedTile, reason: str, run: Run
) -> None:
    key = _key(spec, number)
    name = spec.plan.recipe.tiling().window(number).name
    metadata = session.metadata(spec, run, name, sha256=tile.sha256, **WAIVED)
    body = Body(tile.data, tile.sha256, keys.TIFF_CONTENT_TYPE, metadata)
    done = commit_object(session.store, key, body, IfAbsent(), session.policy, session.effects)
    uri = session.store.object_uri(key)
    theirs = done.stored.metadata
    if done.outcome is not Outcome.WRITTEN and theirs.get("sha256") != tile.sha256:
        raise ConflictError(
            f"{uri} holds a tile of {theirs.get('write_id')} without a row: it is not waived; "
            f"`{_repair(spec, [name])}` mends its row"
        )
    row = replace(tile_row(session, spec, number, tile, done.stored, run), waiver=reason)
    answer = commit_row(session.manifest, row, session.policy, session.effects)
    if isinstance(answer, Existing) and answer.row.waiver != reason:
        raise ConflictError(
            f"{uri}: {answer.row.written_by} was first to write its row; look again"
        )


def _key(spec: JobSpec, number: int) -> str:
    return keys.tile_key(spec.plan.job_id, spec.plan.recipe.tiling().window(number).name)
