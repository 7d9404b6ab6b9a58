"""What a commit came to: its outcome, the object as stored, and what it took."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from scenemosaic.committing.refusal import Refusal
from scenemosaic.errors import PermanentStoreError
from scenemosaic.stores.port import ObjectInfo

OVER_MARKER = "created_over_delete_marker"
COUNTERS = ("refused", "own_write_recovered", "conflict_409_retried", "ambiguous", OVER_MARKER)
# What is counted of windows alone.
OF_WINDOWS = ("diverged", "reused")


class Outcome(enum.Enum):
    """What a commit came to. The last two belong to IfMatch."""

    WRITTEN = "written"
    ALREADY_PRESENT = "already-present"
    SUPERSEDED = "superseded"
    TARGET_GONE = "target-gone"


@dataclass(frozen=True, slots=True)
class Committed:
    """An outcome, the object as stored (None only for TARGET_GONE) and what it took.

    ``counters`` has exactly the names in :data:`COUNTERS`; treat it as read-only.
    ``info`` of a write that was answered at once carries what was sent. ``refusals`` are
    for the audit log.
    """

    outcome: Outcome
    info: ObjectInfo | None
    counters: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    refusals: tuple[Refusal, ...] = ()

    @property
    def stored(self) -> ObjectInfo:
        """The object as stored. Raises PermanentStoreError where the target was gone."""
        if self.info is None:
            raise PermanentStoreError("nothing is stored: the object that was to change is gone")
        return self.info
