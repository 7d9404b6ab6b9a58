"""Whatever died comes back after its time, in the background, as under a supervisor."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

from tests import servers

LOOK_S = 0.2
STARTS = 5
Start = Callable[[], object]


class Returning:
    """What is away, by its name, and how each of it is started.

    One thread tells and tends; :meth:`wait_for` may be called while something is started.
    """

    def __init__(self) -> None:
        self._due: dict[str, tuple[float, Start]] = {}
        self._coming: dict[str, Future[None]] = {}
        self._pool = ThreadPoolExecutor(3)
        self._stopped = Event()

    def away(self, name: str, away_s: float, start: Start) -> None:
        """It just died, and is started so many seconds from now."""
        self._due[name] = time.monotonic() + away_s, start

    def __contains__(self, name: str) -> bool:
        """Whether it is away, or not up again yet."""
        return name in self._due

    def tend(self) -> None:
        """Begin to start what is due, and see who is back. Raises what kept one from it."""
        for name, (at, start) in list(self._due.items()):
            if name not in self._coming:
                if time.monotonic() >= at:
                    self._coming[name] = self._pool.submit(self._start, start)
            elif self._coming[name].done():
                self._coming.pop(name).result()
                del self._due[name]

    def all_back(self) -> None:
        """Wait until nothing is away."""
        while self._due:
            self.tend()
            time.sleep(LOOK_S)

    def wait_for(self, name: str) -> None:
        """For one that another needs: returns once it is there, or all is stopped."""
        while name in self and not self._stopped.wait(LOOK_S):
            pass

    def stop(self) -> None:
        """Nothing is started from now on."""
        self._stopped.set()
        self._pool.shutdown(cancel_futures=True)

    def _start(self, start: Start) -> None:
        """What does not come up is started again, some times."""
        for left in reversed(range(STARTS)):
            if self._stopped.is_set():
                return
            try:
                start()
            except (AssertionError, servers.ServerFailed):
                if not left:
                    raise
            else:
                return
