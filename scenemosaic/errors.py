"""Errors, grouped by what a handler does about them.

A lost race is a value (see :mod:`scenemosaic.committing.commit`), never one of these.
``kind`` is stable and may be matched on; ``exit_code`` is the command line's.
"""

import re
from typing import ClassVar, Final

_USERINFO: Final = re.compile(r"://[^/?#\s]*@")


def without_userinfo(text: str) -> str:
    """``text`` without user and password of the URLs in it."""
    return _USERINFO.sub("://…@", text)


class SceneMosaicError(Exception):
    """Base of every error that this project raises on purpose.

    Its text has no user and password of a URL: SDKs repeat an endpoint as it was given.
    """

    kind: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, *args: object) -> None:
        super().__init__(*(without_userinfo(a) if isinstance(a, str) else a for a in args))


class InputError(SceneMosaicError):
    """Fix the input: bad usage or a source that planning refuses. Nothing was written."""

    kind = "input"
    exit_code = 2


class PlanLost(InputError):
    """A job's plan is gone or damaged, and other things of the job are there."""


class SourceChanged(InputError):
    """A source is not what the job pinned any more."""

    kind = "source-changed"


class IncompleteError(SceneMosaicError):
    """Run again or repair: a window is missing or failed, or verification failed."""

    kind = "incomplete"
    exit_code = 3


class SourceReadError(IncompleteError):
    """A source failed to decode for a window, or changed after it was pinned.

    ``remedy`` says what to do where running again alone cannot change it.
    """

    kind = "source-read"
    remedy: ClassVar[str | None] = None


class SourceUndecodable(SourceReadError):
    """A local file does not decode for a window: whoever reads it next reads the same bytes."""

    kind = "source-undecodable"
    remedy = (
        "the same command reads the same file there: where that is damaged, a whole one makes "
        "another job, and waiving a window lets it hold nodata"
    )


class SourceReplaced(SourceReadError):
    """A source is gone since it was pinned, or another one lies there."""

    kind = "source-replaced"
    remedy = (
        "the same command plans what lies there now, which is another job: for this one, bring "
        "the pinned source back"
    )


class ComputationError(SourceReadError):
    """What was asked of a source's pixels has no value of the mosaic's type there."""

    kind = "computation"
    remedy = "the same command ends alike there: give another --nodata, or another --dtype"


class ConflictError(SceneMosaicError):
    """A person decides: somebody else's object or a newer version stands there."""

    kind = "conflict"
    exit_code = 4


class ForeignObject(ConflictError):
    """The key holds an object that is not ours; it is never adopted."""

    kind = "foreign-object"


class NotAnObject(ForeignObject):
    """No object of the store is at the key, but a folder, a pipe, a link out of the root."""


class UnreadableRow(ForeignObject):
    """A manifest row that no version of this pipeline wrote: it does not decode."""


class Diverged(ConflictError):
    """Two writers made other pixels for the same key."""

    kind = "diverged"


class Superseded(ConflictError):
    """Somebody else's newer version stands there; it was left as it is."""

    kind = "superseded"


class TargetGone(ConflictError):
    """What was to be replaced is gone: somebody deleted it since it was looked at."""

    kind = "target-gone"


class KeyHasHistory(ConflictError):
    """Something stood at the key before, and the run was told not to write over that."""

    kind = "key-has-history"


class StoreError(SceneMosaicError):
    """A store, permission or network fault."""

    kind = "store"
    exit_code = 5


class TransientStoreError(StoreError):
    """Try again. For a write: ambiguous, it may have landed or may land later."""

    kind = "transient"
    retryable = True

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.args[0], self.retry_after_s)


class Contended(TransientStoreError):
    """Others changed an object before each of our attempts: nothing is wrong, and all is safe."""

    kind = "contended"


class PermanentStoreError(StoreError):
    """Give up: bad request, no permission, no such bucket or table."""

    kind = "permanent"


class RetentionError(PermanentStoreError):
    """A retention policy, a legal hold, a lease or an archive tier forbids it: no lost race."""

    kind = "retention"


class Unreadable(PermanentStoreError):
    """This one object may not be read; others may."""

    kind = "unreadable"


class MissingCapability(PermanentStoreError):
    """The store or manifest does not offer what was asked of it."""

    kind = "missing-capability"


class MissingSchema(PermanentStoreError):
    """The manifest's table or schema is not there: ``scenemosaic init`` makes it."""

    kind = "missing-schema"


class OldSchema(MissingSchema):
    """An earlier version made the manifest: ``scenemosaic init`` adds what it lacks."""

    kind = "old-schema"


class PreconditionsIgnored(PermanentStoreError):
    """A store or manifest accepted what its own condition forbids: no job may run on it."""

    kind = "preconditions-ignored"


class PreconditionsUnproven(PermanentStoreError):
    """Preflight could not show that a condition is enforced which every job relies on."""

    kind = "preconditions-unproven"


class LeaseHeld(ConflictError):
    """Another run holds the permit for this work, and has not come to an end of it."""

    kind = "lease-held"


class LeaseCleared(LeaseHeld):
    """An operator cleared our lease: whatever this run still wants is not its business any more."""

    kind = "lease-cleared"


class SlotsUsedUp(ConflictError):
    """The day's slots are used up; tomorrow there are others."""

    kind = "slots-used-up"


class NotApproved(ConflictError):
    """A person said no, nobody answered in time, or what was approved is not what stands now."""

    kind = "not-approved"


class LedgerLost(ConflictError):
    """A ledger is gone, or an older copy of itself: it guards nothing until it is restored."""

    kind = "ledger-lost"


class ClaimLost(LeaseHeld):
    """Our claim was taken over. Wait for the result of whoever has it; nothing is wrong."""

    kind = "claim-lost"
