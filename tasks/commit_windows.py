"""Commit a batch of windows: read, encode, put, row, for each."""

from collections.abc import Callable

from prefect import task
from prefect.context import TaskRunContext

from scenemosaic import job
from scenemosaic.job import BatchResult, JobSpec, Run, WindowOutcome
from scenemosaic.machine.one_thread import one_thread_each
from scenemosaic.resuming import resume_windows
from tasks import credentials as _resolvers  # noqa: F401  # a worker process finds them by it
from tasks import policy


@task(
    name="commit-windows",
    **policy.COMMON,
    timeout_seconds=policy.BATCH_DEADLINE_S,
)
def commit_windows(
    spec: JobSpec,
    numbers: tuple[int, ...],
    run: Run,
    report: Callable[[WindowOutcome], None] | None = None,
    alone: bool = False,
) -> BatchResult:
    """Commit the windows ``numbers``; a window that was already there is an outcome.

    A window whose source fails to decode is an outcome too (``failed``). With ``alone``, in a
    worker's own process, the value says everything, also what a worker did that died.
    Raises TransientStoreError (tried again), ConflictError or another StoreError (not).
    """
    if alone:
        one_thread_each()
        return resume_windows(spec, numbers, run)
    return job.commit_windows(spec, _still_missing(spec, numbers), run, report)


def _still_missing(spec: JobSpec, numbers: tuple[int, ...]) -> tuple[int, ...]:
    context = TaskRunContext.get()
    if context is None or context.task_run.run_count < 2:
        return numbers
    missing = set(job.missing_windows(spec))
    return tuple(number for number in numbers if number in missing)
