"""How far a running scene is: counted by its workers, read by whoever shows it."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from flows.scenes.session import Observer
from flows.terminal.progress import in_bytes, in_seconds
from scenemosaic.job import WindowOutcome
from scenemosaic.mosaic.progress import COPYING, MAKING
from scenemosaic.words import counted

# Of a scene's time the windows take nearly all; the rest is the mosaic.
_WINDOWS_PERCENT: Final = 90.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A moment of a run. ``done`` counts windows of this run, ``present`` those before it."""

    stage: str
    total: int
    present: int
    done: int
    size_bytes: int
    seconds: float
    copied_bytes: int = 0
    mosaic_bytes: int = 0
    boxes: int = 0
    all_boxes: int = 0

    @property
    def percent(self) -> float:
        """0 to 100, never falling within a run."""
        if self.mosaic_bytes:
            share = self.copied_bytes / self.mosaic_bytes
            return _WINDOWS_PERCENT + (100 - _WINDOWS_PERCENT) * share
        return _WINDOWS_PERCENT * (self.present + self.done) / max(self.total, 1)

    @property
    def text(self) -> str:
        """The same in words: windows, bytes, rate, and what is left."""
        parts = [
            f"{self.present + self.done} of {counted(self.total, 'window')}",
            in_bytes(self.size_bytes),
        ]
        if self.mosaic_bytes:
            parts.append(f"mosaic {in_bytes(self.copied_bytes)} of {in_bytes(self.mosaic_bytes)}")
        elif self.all_boxes:
            parts.append(f"{MAKING}, {self.boxes} of {counted(self.all_boxes, 'box', 'boxes')}")
        elif self.done and self.seconds > 0:
            left = (self.total - self.present - self.done) * self.seconds / self.done
            parts += [
                f"{self.done / self.seconds:.1f} windows/s",
                f"{in_bytes(self.size_bytes / self.seconds)}/s",
                f"{in_seconds(left)} left",
            ]
        return " · ".join([self.stage, *parts])


class Live:
    """An observer that only counts: cheap enough for the path of every window."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._stage = ""
        self._total = self._present = self._done = self._bytes = 0
        self._copied = self._mosaic = self._boxes = self._all_boxes = 0
        self._start = clock()

    def stage(self, name: str) -> None:
        self._stage = name

    def windows(self, total: int, present: int) -> None:
        with self._lock:
            self._total, self._present, self._start = total, present, self._clock()

    def window(self, outcome: WindowOutcome) -> None:
        with self._lock:
            self._done += 1
            self._bytes += outcome.size_bytes

    def copied(self, done: int, total: int, phase: str = COPYING) -> None:
        with self._lock:
            if phase == MAKING:
                self._boxes, self._all_boxes = done, total
            else:
                self._copied, self._mosaic = done, total

    def snapshot(self) -> Snapshot | None:
        """The moment; None before the windows are known."""
        with self._lock:
            if not self._total:
                return None
            return Snapshot(
                self._stage,
                self._total,
                self._present,
                self._done,
                self._bytes,
                self._clock() - self._start,
                self._copied,
                self._mosaic,
                self._boxes,
                self._all_boxes,
            )


class Both:
    """Two observers as one."""

    def __init__(self, one: Observer, other: Observer) -> None:
        self._all = (one, other)

    def stage(self, name: str) -> None:
        for one in self._all:
            one.stage(name)

    def windows(self, total: int, present: int) -> None:
        for one in self._all:
            one.windows(total, present)

    def window(self, outcome: WindowOutcome) -> None:
        for one in self._all:
            one.window(outcome)

    def copied(self, done: int, total: int, phase: str = COPYING) -> None:
        for one in self._all:
            one.copied(done, total, phase)
