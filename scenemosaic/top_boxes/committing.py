"""Top boxes are committed by tasks, and found again by assembly.

A box is a derived copy, and nothing depends on it: assembly takes what stands, and makes itself
what does not. So a box that cannot be made is an outcome, and none is ever replaced.
"""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from scenemosaic import keys
from scenemosaic.auditing.trail import Trace, trail
from scenemosaic.committing.commit import Committed, Outcome, commit_object, retrying
from scenemosaic.errors import IncompleteError
from scenemosaic.grids.grid import window_name
from scenemosaic.job_rows import row_of
from scenemosaic.machine.memory import reuse_large_buffers
from scenemosaic.machine.parallel import in_parallel
from scenemosaic.mosaic.assembly import tiles_in_order
from scenemosaic.mosaic.box_bytes import BoxBytes
from scenemosaic.mosaic.stitch import StoredTile
from scenemosaic.mosaic.top import Box
from scenemosaic.mosaic.top_boxes import box_key, numbers_of, top_boxes
from scenemosaic.session import JobSpec, Run, Session, open_session
from scenemosaic.stores.port import Body, IfAbsent
from scenemosaic.top_boxes.making import make_box

_log = logging.getLogger(__name__)
_ROWS_AT_ONCE: Final = 8
_CONTENT_TYPE: Final = "application/octet-stream"
# Says how much of the object assembly reads.
FRONT: Final = "front_bytes"


@dataclass(frozen=True, slots=True)
class BoxOutcome:
    """What became of one box, by its key; by its place, with the reason, where it failed."""

    name: str
    outcome: Literal["written", "already-present", "failed"]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class BoxBatch:
    """The outcomes of some boxes, and what their commits left."""

    outcomes: tuple[BoxOutcome, ...]
    trace: Trace


def missing_boxes(spec: JobSpec) -> tuple[Box, ...]:
    """The boxes of which none stands, by the names below their prefix; none in a small mosaic.

    That is for saving work alone: what stands is proved by whoever uses it.
    """
    boxes = top_boxes(spec.plan.recipe)
    if not boxes:
        return ()
    session, prefix = open_session(spec), keys.top_boxes_prefix(spec.plan.job_id)
    known = retrying(
        lambda: {info.key.rpartition("-")[0] + "-" for info in session.store.list(prefix)},
        session.policy,
        session.effects,
    )
    job_id = spec.plan.job_id
    return tuple(box for box in boxes if keys.top_box_prefix(job_id, box.row, box.col) not in known)


def make_boxes(spec: JobSpec, boxes: Sequence[Box], run: Run) -> BoxBatch:
    """Commit the boxes, one after the other; one that stands already costs a HEAD.

    Raises what a commit raises: store faults that outlast their retries, ForeignObject.
    """
    reuse_large_buffers()
    with trail(open_session(spec), spec.plan.job_id, run) as found:
        outcomes = tuple(_outcome(found.session, spec, box, run) for box in boxes)
    return BoxBatch(outcomes, found.trace)


def _outcome(session: Session, spec: JobSpec, box: Box, run: Run) -> BoxOutcome:
    try:
        tiles = _tiles(session, spec, box)
        key = box_key(spec.plan, box, tiles)
        if retrying(partial(session.store.head, key), session.policy, session.effects) is not None:
            return BoxOutcome(key, "already-present")
        made = make_box(box, tiles, spec.plan.recipe, session.get)
    except IncompleteError as error:  # assembly will meet the same, and say what to do
        name = window_name(box.row, box.col)
        _log.warning("the top box %s is left to assembly: %s", name, error)
        return BoxOutcome(name, "failed", str(error))
    committed = _put(session, spec, key, made, run)
    written = committed.outcome is Outcome.WRITTEN
    return BoxOutcome(key, "written" if written else "already-present")


def _tiles(session: Session, spec: JobSpec, box: Box) -> list[StoredTile]:
    numbers = numbers_of(spec.plan.recipe, box)
    find = partial(row_of, session, spec)
    rows = in_parallel(find, numbers, _ROWS_AT_ONCE)
    return tiles_in_order(spec.plan, (row for row in rows if row is not None), numbers)


def _put(session: Session, spec: JobSpec, key: str, made: BoxBytes, run: Run) -> Committed:
    sha256 = hashlib.sha256(made.data).hexdigest()
    front = {FRONT: str(made.front_bytes)}
    metadata = session.metadata(spec, run, key.rpartition("/")[2], sha256=sha256, **front)
    body = Body(made.data, sha256, _CONTENT_TYPE, metadata)
    return commit_object(session.store, key, body, IfAbsent(), session.policy, session.effects)
