"""Wall time of a run and of its stages."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from flows.reports.scene import Stage
from flows.scenes.session import Observer


class Stopwatch:
    """Times a run from now on, and its stages."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self.stages: list[Stage] = []

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    @contextmanager
    def stage(self, name: str, observer: Observer) -> Iterator[None]:
        """Tell the observer, and note how long the block took, also where it raises."""
        observer.stage(name)
        start = time.monotonic()
        try:
            yield
        finally:
            self.stages.append(Stage(name, time.monotonic() - start))
