"""How much of the machine a run may use."""

import os
from dataclasses import dataclass
from typing import Final

from flows import batches
from scenemosaic.errors import InputError

MOST_WORKERS: Final = 8


def default_workers() -> int:
    """One a core, and at most 8."""
    return min(os.cpu_count() or 1, MOST_WORKERS)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many threads work at once, and how many windows a task run handles (None: automatic).

    ``strict_history``: refuse to create a key that once held something.
    """

    workers: int
    windows_per_task: int | None = None
    strict_history: bool = False

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"at least one worker is needed, not {self.workers}")
        if self.windows_per_task is not None:
            batches.check_size(self.windows_per_task)
