"""Simulated time: processes are generators that yield how many seconds pass."""

import heapq
import itertools
from collections.abc import Generator

Process = Generator[float, None, None]


class Clock:
    """Runs processes in the order of their time; those of one time as they were started."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = itertools.count()
        self._heap: list[tuple[float, int, Process]] = []

    def start(self, process: Process, after_s: float = 0.0) -> None:
        """Let ``process`` begin ``after_s`` seconds from now."""
        heapq.heappush(self._heap, (self.now + after_s, next(self._order), process))

    def run(self) -> None:
        """Until nothing is left to happen."""
        while self._heap:
            self.now, _, process = heapq.heappop(self._heap)
            pause_s = next(process, None)
            if pause_s is not None:
                self.start(process, pause_s)


class Rate:
    """A token bucket that holds a second's worth, and refuses what it has no tokens for."""

    def __init__(self, clock: Clock, per_s: float) -> None:
        self._clock, self._per_s = clock, per_s
        self._tokens, self._at = per_s, 0.0

    def take(self, tokens: float = 1.0) -> bool:
        """Whether the limit let it through."""
        now = self._clock.now
        self._tokens = min(self._per_s, self._tokens + (now - self._at) * self._per_s)
        self._at = now
        if self._tokens < tokens:
            return False
        self._tokens -= tokens
        return True
