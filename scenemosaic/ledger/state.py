"""What a ledger holds: the active run, and what became of those before it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from scenemosaic.errors import InputError

HISTORY: Final = 200
# Below HISTORY, so that what a day used can always be counted from the history.
MAX_SLOTS: Final = 100
MAX_TEXT: Final = 1000


@dataclass(frozen=True, slots=True)
class Reservation:
    """One run's permit to publish one job; ``slots`` and ``time_zone`` are what it was judged by.

    ``operator`` and ``approved_by`` are for people.
    """

    run_id: str
    job_id: str
    since: datetime
    slots: int
    time_zone: str
    operator: str = ""
    approved_by: str | None = None

    def __post_init__(self) -> None:
        for text in (self.run_id, self.job_id, self.time_zone):
            check_text(text)
        for optional in (self.operator, self.approved_by):
            check_text(optional or "-")
        _check_time(self.since)
        check_slots(self.slots)


@dataclass(frozen=True, slots=True)
class Published:
    """What was published: the mosaic's revision, and what proves its bytes."""

    revision: int
    digest: str
    etag: str
    version_id: str | None = None

    def __post_init__(self) -> None:
        if self.revision < 0:
            raise InputError(f"a revision is at least 0, not {self.revision}")
        for text in (self.digest, self.etag, self.version_id or "-"):
            check_text(text)


@dataclass(frozen=True, slots=True)
class Cleared:
    """An operator ended a run that did not end by itself, and said why."""

    by: str
    reason: str

    def __post_init__(self) -> None:
        check_text(self.by)
        check_text(self.reason)


@dataclass(frozen=True, slots=True)
class Entry:
    """A run that has ended, and how."""

    reservation: Reservation
    ended_at: datetime
    end: Published | Cleared

    def __post_init__(self) -> None:
        _check_time(self.ended_at)


@dataclass(frozen=True, slots=True)
class State:
    """All of a ledger. ``revision`` grows with every change; 0 means that nothing is stored.

    ``write_id`` names the change that made this state: no two states are the same bytes.
    """

    name: str
    revision: int = 0
    write_id: str = ""
    active: Reservation | None = None
    history: tuple[Entry, ...] = field(default=())  # oldest first

    def __post_init__(self) -> None:
        if len(self.history) > HISTORY or self.revision < 0:
            raise InputError(
                f"a ledger has at most {HISTORY} entries and no negative revision, "
                f"not {len(self.history)} and {self.revision}"
            )

    def entry_of(self, run_id: str) -> Entry | None:
        """How a run ended; None where it is not known to have ended."""
        found = (one for one in reversed(self.history) if one.reservation.run_id == run_id)
        return next(found, None)

    @property
    def reservations(self) -> list[Reservation]:
        """Every reservation that is known, the active one last."""
        active = [] if self.active is None else [self.active]
        return [*(entry.reservation for entry in self.history), *active]


def check_slots(slots: int) -> int:
    """The number of slots a day itself, or InputError."""
    if not 1 <= slots <= MAX_SLOTS:
        raise InputError(f"a day has 1 to {MAX_SLOTS} slots, not {slots}")
    return slots


def check_text(text: str) -> str:
    """The text itself, or InputError: it is kept, and shown to people on one line."""
    if not text.strip() or len(text) > MAX_TEXT or not text.isprintable():
        raise InputError(
            f"expected 1 to {MAX_TEXT} printable characters on one line, not {text!r:.80}"
        )
    return text


def _check_time(moment: datetime) -> None:
    if moment.utcoffset() != timedelta(0) or moment.tzinfo is None:
        raise InputError(f"a ledger's times are in UTC, not {moment.isoformat()}")
