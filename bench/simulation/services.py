"""The simulated object store, manifest and queue, and what was counted."""

import enum
import random
from collections import Counter, deque
from dataclasses import dataclass, field

from bench.simulation.kernel import Clock, Process, Rate
from bench.simulation.parameters import Parameters


class Answer(enum.Enum):
    """What a conditional create is answered with."""

    WRITTEN = enum.auto()
    REFUSED = enum.auto()
    SLOW_DOWN = enum.auto()


class Creates:
    """Keys that exist once: each holds the write-id that was first. Behind rate limits."""

    def __init__(self) -> None:
        self.held: dict[int, int] = {}

    def create(self, key: int, write_id: int) -> Answer:
        """If-None-Match: the first one is written, and every later one refused."""
        if key in self.held:
            return Answer.REFUSED
        self.held[key] = write_id
        return Answer.WRITTEN


@dataclass
class World:
    """Everything that the processes share."""

    given: Parameters
    clock: Clock = field(default_factory=Clock)
    counts: Counter[str] = field(default_factory=Counter)
    computed_s: float = 0.0
    useful_s: float = 0.0
    rows_at_s: float = 0.0
    mosaic_at_s: float = 0.0
    tiles: Creates = field(default_factory=Creates)
    rows: Creates = field(default_factory=Creates)
    queue: deque[int] = field(default_factory=deque)
    delivered: set[int] = field(default_factory=set)
    idle: list[Process] = field(default_factory=list)  # woken by a delivery
    at_last_row: list[Process] = field(default_factory=list)  # started by it

    def __post_init__(self) -> None:
        given, clock = self.given, self.clock
        self.chance = random.Random(given.seed)
        self._prefixes = [Rate(clock, given.puts_per_s) for _ in range(given.prefixes)]
        shards = (given.windows - 1) // given.shard + 1
        self._partitions = [Rate(clock, given.partition_units_per_s) for _ in range(shards)]
        self._table = Rate(clock, given.table_units_per_s)

    def put(self, window: int, write_id: int) -> Answer:
        """A tile's conditional PUT; a refused one counts against the limit, too."""
        if not self._prefixes[window % len(self._prefixes)].take():
            self.counts["slowed"] += 1
            return Answer.SLOW_DOWN
        return self._counted("put", self.tiles.create(window, write_id))

    def insert(self, window: int, write_id: int) -> Answer:
        """A row's conditional insert; a refused one takes its write units, too."""
        units = self.given.row_units
        shard = self._partitions[window // self.given.shard]
        if not (shard.take(units) and self._table.take(units)):
            self.counts["throttled"] += 1
            return Answer.SLOW_DOWN
        answer = self._counted("row", self.rows.create(window, write_id))
        if len(self.rows.held) == self.given.windows and not self.rows_at_s:
            self.rows_at_s = self.clock.now
            for process in self.at_last_row:
                self.clock.start(process)
        return answer

    def _counted(self, what: str, answer: Answer) -> Answer:
        if answer is Answer.REFUSED:
            self.counts[f"{what} refused"] += 1
        return answer

    def missing(self, batch: int) -> list[int]:
        """The windows of a batch that have no row now."""
        first = batch * self.given.batch
        last = min(first + self.given.batch, self.given.windows)
        return [window for window in range(first, last) if window not in self.rows.held]

    def deliver_again(self, batch: int) -> Process:
        """One more delivery, before all others; start it later to let it come later."""
        self.queue.appendleft(batch)
        if self.idle:
            self.clock.start(self.idle.pop())
        yield from ()

    def latency_s(self, median_s: float) -> float:
        """One latency, log-normal."""
        return median_s * self.chance.lognormvariate(0.0, self.given.latency_sigma)
