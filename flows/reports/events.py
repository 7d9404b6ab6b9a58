"""What a while of listening to a queue came to, counted delivery by delivery."""

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Final

from flows.reports.form_words import in_form_words
from flows.reports.states import state_name
from scenemosaic.errors import StoreError
from scenemosaic.queues.verdict import Delivery, Fate, SceneFate

# Left to the queue, which delivers them again; a bad message it moves away in the end.
_AGAIN: Final = (Fate.INCOMPLETE, Fate.FAULT)
KEPT_ROWS: Final = 1000  # as many as a table shows; all are counted


@dataclass(frozen=True, slots=True)
class EventRow:
    """A scene, or a message that was none of ours, and what became of it."""

    scene: str
    job_id: str | None
    fate: Fate
    detail: str
    message_id: str
    delivery: int

    def to_table(self) -> dict[str, object]:
        """The row of an artifact's table."""
        return {
            "scene": self.scene,
            "outcome": self.fate.value,
            "what happened": in_form_words(self.detail),
            "job": self.job_id,
            "message": self.message_id,
            "delivery": self.delivery,
        }


@dataclass(frozen=True, slots=True)
class EventsReport:
    """Deliveries of messages and fates of scenes, counted.

    ``bad`` and ``unfinished`` are messages that were left to the queue, by their last delivery.
    ``rows`` names what was no duplicate, as far as a table holds it.
    """

    received: int
    acknowledged: int
    fates: dict[str, int]
    bad: int
    unfinished: int
    rows: tuple[EventRow, ...] = ()
    error: StoreError | None = None
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """Jobs that this run carried out."""
        return self.fates.get(Fate.DONE, 0)

    @property
    def duplicates(self) -> int:
        """Scenes whose mosaic was there already."""
        return self.fates.get(Fate.PRESENT, 0)

    @property
    def has_failed(self) -> bool:
        return self.error is not None or self.unfinished > 0

    @property
    def state(self) -> str:
        """The name of the flow run's final state."""
        if self.error is not None:
            return state_name(self.error)
        if self.unfinished:
            return "Incomplete"
        return "Ingested" if self.done or self.fates.get(Fate.CONFLICT) else "NothingNew"

    @property
    def summary(self) -> str:
        """The counts in one line."""
        counts = {
            "done": self.done,
            "already there": self.duplicates,
            "in conflict": self.fates.get(Fate.CONFLICT, 0),
            "bad messages left to the queue": self.bad,
            "unfinished and left to the queue": self.unfinished,
        }
        parts = [f"{count} {name}" for name, count in counts.items() if count]
        text = ", ".join([f"{self.received} received", *parts])
        return f"{text}; {self.error}" if self.error is not None else text


class EventsTally:
    """Counts deliveries, thread-safely; what it keeps grows with what is left alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._received = self._acknowledged = 0
        self._fates: Counter[str] = Counter()
        self._left: dict[str, bool] = {}  # message ID -> whether it is bad
        self._rows: list[EventRow] = []

    def add(self, delivery: Delivery) -> None:
        """Note one delivery; the last word on a message counts."""
        with self._lock:
            self._received += 1
            self._acknowledged += delivery.acknowledged
            self._fates.update(scene.fate.value for scene in delivery.scenes)
            if delivery.acknowledged:
                self._left.pop(delivery.message_id, None)
            else:
                self._left[delivery.message_id] = _is_bad(delivery)
            rows = [_row(delivery, one) for one in delivery.scenes if one.fate != Fate.PRESENT]
            self._rows += rows[: KEPT_ROWS - len(self._rows)]

    def report(self, error: StoreError | None, seconds: float) -> EventsReport:
        """The count as it stands."""
        with self._lock:
            bad = sum(self._left.values())
            return EventsReport(
                self._received,
                self._acknowledged,
                dict(self._fates),
                bad,
                len(self._left) - bad,
                tuple(self._rows),
                error,
                seconds,
            )


def _is_bad(delivery: Delivery) -> bool:
    fates = {scene.fate for scene in delivery.scenes}
    return Fate.REFUSED in fates and not fates & set(_AGAIN)


def _row(delivery: Delivery, scene: SceneFate) -> EventRow:
    return EventRow(
        scene.source,
        scene.job_id,
        scene.fate,
        scene.detail,
        delivery.message_id,
        delivery.count,
    )
