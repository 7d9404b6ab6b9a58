"""A gate before the store: so many tiles get through, the others wait until it is opened."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from tests.faults.proxy import Fault, Proxy, Rule
from tests.faults.wire import Request

GIVE_UP_S = 400.0
LOOK_S, SELDOM_S = 0.1, 1.0
T = TypeVar("T")


def until(
    what: str | Callable[[], str],
    ask: Callable[[], T | None],
    give_up_s: float = GIVE_UP_S,
    *,
    passes: bool = False,
) -> T:
    """The answer, once there is one. ``what`` may say how things stand when there is none.

    Who has waited long looks more seldom, since servers work for each look; not where what is
    waited for ``passes``.
    """
    begin = time.monotonic()
    while not (found := ask()):
        waited_s = time.monotonic() - begin
        if waited_s > give_up_s:
            said = what if isinstance(what, str) else what()
            raise AssertionError(f"not within {give_up_s:.0f} s: {said}")
        time.sleep(LOOK_S if passes else min(max(LOOK_S, waited_s / 20), SELDOM_S))
    return found


def within(give_up_s: float, ask: Callable[[], bool]) -> bool:
    """Whether it came to be so in time."""
    end = time.monotonic() + give_up_s
    while not (found := ask()) and time.monotonic() < end:
        time.sleep(LOOK_S)
    return found


def is_tile_put(request: Request, bucket: str) -> bool:
    return request.method == "PUT" and request.path.startswith(f"/{bucket}/root/tiles/")


class Gate:
    """What one bucket's requests meet. ``limit`` tiles go through at once."""

    def __init__(self, bucket: str) -> None:
        self.bucket = bucket
        self.rule: Rule = lambda request: None
        self._limit: float = float("inf")
        self._passed = 0
        self._lock = threading.Lock()

    def let(self, tiles: int) -> None:
        """Let so many more through, and hold what comes after them."""
        with self._lock:
            self._limit, self._passed = tiles, 0

    def open(self) -> None:
        """Let all through, also what waits."""
        with self._lock:
            self._limit = float("inf")

    def meet(self, request: Request) -> "Fault | float | None":
        if not is_tile_put(request, self.bucket):
            return self.rule(request)
        with self._lock:
            if self._passed >= self._limit:
                return Fault.PAUSE
            self._passed += 1
            return self.rule(request)


class Gates:
    """The gates of all buckets behind one proxy."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self._gates: dict[str, Gate] = {}
        proxy.rule = self._meet

    def of(self, bucket: str) -> Gate:
        return self._gates.setdefault(bucket, Gate(bucket))

    def _meet(self, request: Request) -> "Fault | float | None":
        gate = self._gates.get(request.path.split("/")[1])
        return None if gate is None else gate.meet(request)
