"""A machine that may die or stand still while time passes on it."""

import math
from collections.abc import Callable, Generator

from bench.simulation.kernel import Process
from bench.simulation.services import World


class Died(Exception):
    """The machine is gone in the middle of what it did."""


class Body:
    """``spend`` lets time pass. ``stalled`` is told of each stall's length as it begins."""

    def __init__(self, world: World, stalled: Callable[[float], None] = lambda _: None) -> None:
        self.world, self._stalled = world, stalled
        self.restart()

    def restart(self) -> None:
        """A new life."""
        given = self.world.given
        self._dies_at = self._next(given.deaths_per_h)
        self._stalls_at = self._next(given.stalls_per_h)

    def _next(self, per_h: float) -> float:
        clock, chance = self.world.clock, self.world.chance
        return clock.now + chance.expovariate(per_h / 3600) if per_h else math.inf

    def spend(self, seconds: float) -> Process:
        """Let so much working time pass. Raises Died."""
        clock = self.world.clock
        end = clock.now + seconds
        while (first := min(self._dies_at, self._stalls_at)) < end:
            yield max(0.0, first - clock.now)
            if first == self._dies_at:
                raise Died
            end += yield from self._stall()
        yield max(0.0, end - clock.now)

    def _stall(self) -> Generator[float, None, float]:
        given, counts = self.world.given, self.world.counts
        length_s = self.world.chance.expovariate(1 / given.stall_s)
        counts["stalls"] += 1
        self._stalled(length_s)
        yield length_s
        self._stalls_at = self._next(given.stalls_per_h)
        self._dies_at = max(self._dies_at, self.world.clock.now)
        return length_s
