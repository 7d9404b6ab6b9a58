"""Time and chance under a test's control."""

from dataclasses import dataclass, field

from scenemosaic.waiting.retry import Effects


@dataclass
class FakeTime:
    """A clock that only sleeping moves; ``sleeps`` holds the pauses in seconds.

    The time of day stands still.
    """

    now_s: float = 0.0
    chance: float = 1.0
    sleeps: list[float] = field(default_factory=list)

    def effects(self) -> Effects:
        day = "2026-01-01T00:00:00Z"
        return Effects(lambda: self.now_s, self._sleep, lambda: self.chance, lambda: day)

    def _sleep(self, pause_s: float) -> None:
        self.sleeps.append(pause_s)
        self.now_s += pause_s
