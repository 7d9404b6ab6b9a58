"""What every task has in common: when it is tried again, and what it never keeps."""

import logging
from typing import Any, Final

from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import Task, exponential_backoff

RETRIES: Final = 3
BACKOFF_S: Final = exponential_backoff(2)
JITTER: Final = 0.5
BATCH_DEADLINE_S: Final = 3600


def is_retryable(task: "Task[..., object]", task_run: TaskRun, state: "State[object]") -> bool:
    """Only the error's class decides: ``retryable`` of ours, and time-outs.

    A refusal never comes here, because it is a returned value.
    """
    error: object = state.result(raise_on_failure=False)
    return isinstance(error, TimeoutError) or getattr(type(error), "retryable", False) is True


class _NoThreadTimeoutWarning(logging.Filter):
    """Drops one warning a task run: a time-out takes effect between two windows, and may."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith("Timeout of %s seconds configured for this task")


logging.getLogger("prefect.task_runs").addFilter(_NoThreadTimeoutWarning())


# The manifest is the cache, and every outcome is looked at again.
COMMON: Final[dict[str, Any]] = {
    "cache_policy": NO_CACHE,
    "persist_result": False,
    "retries": RETRIES,
    "retry_delay_seconds": BACKOFF_S,
    "retry_jitter_factor": JITTER,
    "retry_condition_fn": is_retryable,
}
