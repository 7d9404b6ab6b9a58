"""Trying again: the policy, the pauses, and the loop for requests that change nothing twice.

Time and chance come in as :class:`Effects`, so that a test never sleeps.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from scenemosaic.errors import InputError, TransientStoreError
from scenemosaic.moments import rfc3339
from scenemosaic.waiting.service_clock import now_utc

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most ``attempts`` tries within ``deadline_s``; pauses double up to ``cap_s``."""

    attempts: int = 8
    base_s: float = 0.1
    cap_s: float = 5.0
    deadline_s: float = 120.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or min(self.base_s, self.cap_s, self.deadline_s) < 0:
            raise InputError(f"a retry policy needs an attempt and no negative time: {self}")


def now_rfc3339() -> str:
    """The time of day, RFC 3339 in UTC."""
    return rfc3339(now_utc())


@dataclass(frozen=True, slots=True)
class Effects:
    """A monotonic clock in seconds, a sleep in seconds, and a random number in [0, 1).

    ``now`` is the time of day, which is only ever recorded.
    """

    clock: Callable[[], float]
    sleep: Callable[[float], None]
    random: Callable[[], float]
    now: Callable[[], str] = now_rfc3339


def system_effects() -> Effects:
    """The machine's own clock, sleep and randomness."""
    return Effects(time.monotonic, time.sleep, random.random)


def pause_s(
    policy: RetryPolicy, failures: int, chance: float, retry_after_s: float | None
) -> float:
    """The pause after the ``failures``-th failure: full jitter, and never less than Retry-After."""
    # The exponent is bounded because 2.0 ** 1024 overflows.
    ceiling = min(policy.cap_s, policy.base_s * 2.0 ** min(failures - 1, 60))
    return max(chance * ceiling, retry_after_s or 0.0)


class Pacer:
    """Counts the failures of one operation and pauses between its attempts."""

    def __init__(self, policy: RetryPolicy, effects: Effects) -> None:
        self._policy = policy
        self._effects = effects
        self._end = effects.clock() + policy.deadline_s
        self.failures = 0

    def again(self, retry_after_s: float | None = None) -> bool:
        """Note a failure, then pause and say True; False where attempts or time are used up."""
        self.failures += 1
        if self.failures >= self._policy.attempts:
            return False
        pause = pause_s(self._policy, self.failures, self._effects.random(), retry_after_s)
        if self._effects.clock() + pause > self._end:
            return False
        self._effects.sleep(pause)
        return True


def retrying(call: Callable[[], T], policy: RetryPolicy, effects: Effects) -> T:
    """``call()``, again after each TransientStoreError while the policy allows; then raises it.

    For reads and for requests that may safely land twice; never for a conditional write.
    """
    pacer = Pacer(policy, effects)
    while True:
        try:
            return call()
        except TransientStoreError as error:
            if not pacer.again(error.retry_after_s):
                raise
