"""Progress for people: a bar on a terminal, plain lines elsewhere."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from scenemosaic.mosaic.progress import COPYING, MAKING
from scenemosaic.words import counted

if TYPE_CHECKING:
    from scenemosaic.job import WindowOutcome

LINE_S: Final = 1.0
LINE_SHARE: Final = 0.05
BAR_S: Final = 0.1
BAR_WIDTH: Final = 24
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")
_CLEAR: Final = "\r\x1b[2K"


class Stream(Protocol):
    """Where progress is written."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...


class Meter:
    """One counter on a stream, updated from many threads.

    On a terminal the line is redrawn at most ten times a second. Elsewhere a
    line is written where 5 % and a second have passed, and at the end.
    """

    def __init__(
        self, stream: Stream, terminal: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._terminal = terminal
        self._clock = clock
        self._lock = threading.Lock()
        self._shown_at = clock()
        self._shown_share = 0.0
        self._drawn = False
        self._kept = True

    def update(self, share: float, text: str) -> None:
        """``share`` is within 0..1; ``text`` says the same in words."""
        with self._lock:
            now = self._clock()
            if self._due(share, now):
                self._shown_at, self._shown_share = now, share
                self._draw(share, text)

    def line(self, text: str) -> None:
        """A line of its own, which stays."""
        with self._lock:
            self._stream.write((_CLEAR if self._drawn else "") + text + "\n")
            self._stream.flush()
            self._drawn = False
            self._shown_at, self._shown_share = self._clock(), 0.0

    def hint(self, text: str) -> None:
        """What goes on now, on a terminal alone; the next line or the end takes its place.

        What is counted from here on begins anew.
        """
        with self._lock:
            self._shown_at, self._shown_share = self._clock(), 0.0
            if self._terminal:
                self._stream.write(_CLEAR + text)
                self._stream.flush()
                self._drawn, self._kept = True, False

    def close(self) -> None:
        """Leave the bar as it was drawn last, and go to the next line."""
        with self._lock:
            if self._drawn:
                self._stream.write("\n" if self._kept else _CLEAR)
                self._stream.flush()
            self._drawn = False

    def _due(self, share: float, now: float) -> bool:
        if share >= 1.0:
            return self._shown_share < 1.0
        passed = now - self._shown_at
        if self._terminal:
            return passed >= BAR_S
        return passed >= LINE_S and share - self._shown_share >= LINE_SHARE

    def _draw(self, share: float, text: str) -> None:
        if self._terminal:
            full = round(share * BAR_WIDTH)
            bar = "█" * full + "░" * (BAR_WIDTH - full)
            self._stream.write(f"{_CLEAR}  {bar} {share:4.0%} {text}")
        else:
            self._stream.write(f"  {share:4.0%} {text}\n")
        self._stream.flush()
        self._drawn, self._kept = self._terminal, True


class Progress:
    """The observer of the command line."""

    def __init__(
        self, stream: Stream, terminal: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._meter = Meter(stream, terminal, clock)
        self._clock = clock
        self._lock = threading.Lock()
        self._total = self._present = self._done = self._bytes = 0
        self._start = clock()

    def stage(self, name: str) -> None:
        self._meter.close()
        self._meter.hint(f"{name} …")

    def say(self, text: str) -> None:
        """A line for people."""
        self._meter.close()
        self._meter.line(text)

    def windows(self, total: int, present: int) -> None:
        self._total, self._present, self._done, self._bytes = total, present, 0, 0
        self._start = self._clock()
        there = f", {present} of them there already" if present else ""
        self._meter.line(f"{counted(total, 'window')}{there}")

    def window(self, outcome: "WindowOutcome") -> None:
        with self._lock:
            self._done += 1
            self._bytes += outcome.size_bytes
            share, text = self._state()
        if outcome.outcome == "failed":
            self._meter.line(f"  window {outcome.window} failed: {outcome.error}")
        self._meter.update(share, text)

    def copied(self, done: int, total: int, phase: str = COPYING) -> None:
        """How far the mosaic is, in boxes of its smaller levels and then in bytes."""
        if phase == MAKING:
            self._made(done, total)
            return
        if not done:
            self._meter.line(f"mosaic of {in_bytes(total)}")
        share = done / total if total else 1.0
        self._meter.update(share, f"{in_bytes(done)} of {in_bytes(total)}")

    def _made(self, done: int, total: int) -> None:
        """A short job says nothing of it: the last box is followed by the copying."""
        if not done:
            self._meter.hint(f"{MAKING} …")
        elif done < total:
            text = f"{MAKING}: {done} of {counted(total, 'box', 'boxes')}"
            self._meter.update(done / total, text)

    def verified(self, stage: str, done: int, total: int) -> None:
        """How far a verification is, in windows and then in bytes of the mosaic."""
        if stage == "mosaic":
            self.copied(done, total)
        else:
            self._meter.update(done / max(total, 1), f"{done} of {total} {stage}")

    def copied_rows(self, done: int, total: int) -> None:
        """The same for rows of pixels."""
        self._meter.update(done / max(total, 1), f"{done} of {counted(total, 'row')}")

    def close(self) -> None:
        self._meter.close()

    def _state(self) -> tuple[float, str]:
        done = self._present + self._done
        elapsed = max(self._clock() - self._start, 1e-6)
        left = (self._total - done) * elapsed / self._done
        counts = f"{done} of {counted(self._total, 'window')} · {in_bytes(self._bytes)}"
        return done / max(self._total, 1), f"{counts} · {in_seconds(left)} left"


def in_bytes(size_bytes: float) -> str:
    """``12.3 MB``; powers of 1000."""
    unit = 0
    while size_bytes >= 1000 and unit < len(_UNITS) - 1:
        size_bytes, unit = size_bytes / 1000, unit + 1
    return f"{size_bytes:.1f} {_UNITS[unit]}" if unit else f"{size_bytes:.0f} B"


def in_seconds(seconds: float) -> str:
    """``0.4 s``, ``12 s``, ``3 min 05 s``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"
