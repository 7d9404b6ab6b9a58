"""How fast rows are written where a partition takes so many write units a second.

DynamoDB counts a unit for each KB begun of an item, and takes 1,000 a second of a partition.
One process keeps below that by itself. Several that share a partition are told by DynamoDB
(throttled): each halves its own pace then, and doubles it again in so many seconds.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from scenemosaic.grids.grid import ceil_div
from scenemosaic.manifests.packing import size_bytes
from scenemosaic.manifests.port import Row

UNIT_BYTES: Final = 1024
FULL_PER_S: Final = 900.0
LEAST_PER_S: Final = 1.0
# So many seconds' units may go at once, after a rest.
_AT_ONCE_S: Final = 1.0
_DOUBLES_S: Final = 10.0
_MOST_DOUBLINGS: Final = 20.0
_MOST_PARTITIONS: Final = 1000


def units_of(row: Row) -> int:
    """The write units of a row as it is stored."""
    return ceil_div(size_bytes(row), UNIT_BYTES)


@dataclass
class Bucket:
    """The units of one partition: what may go at once, at which pace, as of ``at_s``."""

    at_s: float
    per_s: float = FULL_PER_S
    left: float = FULL_PER_S * _AT_ONCE_S

    def take(self, now_s: float, units: int) -> float:
        """Take ``units``; the seconds to wait before they are sent."""
        elapsed_s = now_s - self.at_s
        faster = 2.0 ** min(elapsed_s / _DOUBLES_S, _MOST_DOUBLINGS)
        self.per_s = min(FULL_PER_S, self.per_s * faster)
        self.left = min(self.per_s * _AT_ONCE_S, self.left + elapsed_s * self.per_s) - units
        self.at_s = now_s
        return max(0.0, -self.left / self.per_s)

    def slow_down(self) -> None:
        """The partition takes no more: half of the pace, and nothing at once."""
        self.per_s = max(self.per_s / 2, LEAST_PER_S)
        self.left = min(self.left, 0.0)


class Pace:
    """The pace of all threads of a process, by partition. Times in seconds are injected."""

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._buckets: dict[str, Bucket] = {}

    def take(self, partition: str, units: int) -> None:
        """Wait until so many units may be written to the partition."""
        with self._lock:
            pause_s = self._bucket(partition).take(self._clock(), units)
        if pause_s > 0:
            self._sleep(pause_s)

    def throttled(self, partition: str) -> None:
        """The partition has just refused a write for its rate."""
        with self._lock:
            self._bucket(partition).slow_down()

    def _bucket(self, partition: str) -> Bucket:
        found = self._buckets.pop(partition, None) or Bucket(self._clock())
        # The last one used stands last; a process that lives long meets many jobs.
        self._buckets[partition] = found
        if len(self._buckets) > _MOST_PARTITIONS:
            del self._buckets[next(iter(self._buckets))]
        return found
