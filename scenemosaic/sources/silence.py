"""Sources that give no answer in time, one time after the other: not asked again for a while.

Each window of a hung source waits for the whole deadline. After two in a row the others of
this process fail at once, so that a job of ten thousand windows ends in minutes.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from scenemosaic.errors import SourceReadError
from scenemosaic.sources.locations import is_local, public_uri

IN_A_ROW: Final = 2
PAUSE_S: Final = 60.0


@dataclass
class Silences:
    """How often each remote source was silent in a row, and since when. For many threads."""

    in_a_row: int = IN_A_ROW
    pause_s: float = PAUSE_S
    clock: Callable[[], float] = time.monotonic
    _counts: dict[str, tuple[int, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def watched(self, location: str, silence_s: float) -> Iterator[None]:
        """Time what is done with a source in this context: a failure after ``silence_s`` counts.

        Raises SourceReadError at once where the source was silent too often; after each
        ``pause_s`` one more is let through.
        """
        if is_local(location):
            yield
            return
        name = public_uri(location)
        self._check(name, silence_s)
        begin, answered = self.clock(), False
        try:
            yield
            answered = True
        finally:
            now = self.clock()
            self._note(name, answered, now if now - begin >= silence_s else None)

    def _check(self, name: str, silence_s: float) -> None:
        with self._lock:
            count, last = self._counts.get(name, (0, 0.0))
            if count < self.in_a_row:
                return
            if self.clock() - last >= self.pause_s:
                self._counts[name] = (count, self.clock())  # this one tries; the others don't
                return
        raise SourceReadError(
            f"{name}: its server gave no answer within {silence_s:g} s, {count} times in a row, "
            f"and is not asked again for {self.pause_s:g} s: run again when it answers"
        )

    def _note(self, name: str, answered: bool, silent_at: float | None) -> None:
        with self._lock:
            if silent_at is not None and not answered:
                self._counts[name] = (self._counts.get(name, (0, 0.0))[0] + 1, silent_at)
            else:
                self._counts.pop(name, None)


SILENCES: Final = Silences()
