"""A ledger as it stands, judged by the time: the active run's age, and today's slots."""

from dataclasses import dataclass
from datetime import date, datetime

from scenemosaic.ledger import rules
from scenemosaic.ledger.days import day_of, zone_of
from scenemosaic.ledger.state import State


@dataclass(frozen=True, slots=True)
class Survey:
    """``age_s`` is the active run's, None without one. ``slots`` is the last publisher's rule."""

    state: State
    age_s: float | None
    day: date
    time_zone: str
    used: int
    slots: int | None

    def is_stale(self, max_age_s: float) -> bool:
        """Whether a run is active for longer than ``max_age_s``."""
        return self.age_s is not None and self.age_s > max_age_s


def survey(state: State, now: datetime, time_zone: str | None = None) -> Survey:
    """The state at ``now``; without ``time_zone`` the last publisher's decides, or UTC."""
    last = state.reservations[-1] if state.reservations else None
    zone = time_zone or (last.time_zone if last is not None else "UTC")
    return Survey(
        state,
        None if state.active is None else rules.age_s(state.active, now),
        day_of(now, zone_of(zone)),
        zone,
        rules.slots_used(state, now, zone),
        None if last is None else last.slots,
    )
