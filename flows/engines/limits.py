"""How much of the machine a run may use."""

import os
from dataclasses import dataclass
from typing import Final

from flows.engines import batches
from flows.engines.engine import THREADS, Engine
from scenemosaic.errors import InputError

MOST_WORKERS: Final = 8
PROCESSES: Final = 2


def default_workers() -> int:
    """One a core, and at most 8."""
    return min(os.cpu_count() or 1, MOST_WORKERS)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many workers there are, and how many windows a task run handles (None: automatic).

    Workers are the ``engine``'s: threads, or processes. ``strict_history``: refuse to create a
    key that once held something.
    """

    workers: int
    windows_per_task: int | None = None
    strict_history: bool = False
    engine: Engine = THREADS

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"at least one worker is needed, not {self.workers}")
        if self.windows_per_task is not None:
            batches.check_size(self.windows_per_task)


def limits_of(
    workers: int | None, windows_per_task: int | None, strict_history: bool, engine: Engine
) -> Limits:
    """Limits with the engine's own number of workers where none is given."""
    default = PROCESSES if engine.crosses else default_workers()
    return Limits(workers or default, windows_per_task, strict_history, engine)


def limits_of_each(workers: int | None, at_once: int, engine: Engine) -> Limits:
    """For ``at_once`` scenes: cores are shared out, a cluster's processes are for all."""
    share = max(1, default_workers() // at_once)
    return limits_of(workers or (None if engine.crosses else share), None, False, engine)
