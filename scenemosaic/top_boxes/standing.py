"""Which top boxes stand as assembly begins; it does without those that do not."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from scenemosaic.committing.commit import is_ours, retrying
from scenemosaic.errors import IncompleteError
from scenemosaic.machine.parallel import in_parallel
from scenemosaic.mosaic.box_bytes import NO_BOXES, StandingBox, StandingBoxes
from scenemosaic.mosaic.stitch import StoredTile
from scenemosaic.mosaic.top import Box
from scenemosaic.mosaic.top_boxes import box_key, numbers_of, top_boxes
from scenemosaic.session import JobSpec, Session
from scenemosaic.top_boxes.committing import FRONT

T = TypeVar("T")
_log = logging.getLogger(__name__)
_AT_ONCE: Final = 16


def standing_boxes(session: Session, spec: JobSpec, tiles: Sequence[StoredTile]) -> StandingBoxes:
    """The boxes of exactly these tiles, all of the job's in the order of their windows."""
    boxes = top_boxes(spec.plan.recipe)
    looked = in_parallel(partial(_look, session, spec, tiles), boxes, _AT_ONCE)
    return {box: found for box, found in zip(boxes, looked, strict=True) if found is not None}


def _look(
    session: Session, spec: JobSpec, tiles: Sequence[StoredTile], box: Box
) -> StandingBox | None:
    own = [tiles[number] for number in numbers_of(spec.plan.recipe, box)]
    key = box_key(spec.plan, box, own)
    info = retrying(partial(session.store.head, key), session.policy, session.effects)
    if info is None:
        return None
    front = info.metadata.get(FRONT, "")
    if not is_ours(info, {"job_id": spec.plan.job_id}) or not front.isdecimal():
        _log.warning("%s is not ours, and not used", session.store.object_uri(key))
        return None
    return StandingBox(key, info.etag, info.size_bytes, int(front))


def with_boxes(publish: Callable[[StandingBoxes], T], boxes: StandingBoxes) -> T:
    """What ``publish`` makes of the boxes, or without them where some turn out damaged late.

    A run in a box is compared with its CRC-32 only where its bytes are copied.
    """
    try:
        return publish(boxes)
    except IncompleteError as error:
        if not boxes:
            raise
        _log.warning("the mosaic is made once more, without top boxes: %s", error)
        return publish(NO_BOXES)
