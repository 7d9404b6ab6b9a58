"""Repair a batch of windows: inspect, compare, replace what is still as inspected, for each."""

from collections.abc import Callable

from prefect import task

from scenemosaic.job import JobSpec, Run
from scenemosaic.machine.one_thread import one_thread_each
from scenemosaic.repair import engine
from scenemosaic.repair.engine import RepairBatch, WindowRepair
from tasks import credentials as _resolvers  # noqa: F401  # a worker process finds them by it
from tasks import policy


@task(
    name="repair-windows",
    **policy.COMMON,
    timeout_seconds=policy.BATCH_DEADLINE_S,
)
def repair_windows(
    spec: JobSpec,
    numbers: tuple[int, ...],
    run: Run,
    named: bool,
    report: Callable[[WindowRepair], None] | None = None,
    alone: bool = False,
) -> RepairBatch:
    """Repair the windows ``numbers``; superseded, target-gone and failed are outcomes.

    ``alone`` in a worker's own process, which takes no more threads than one.
    Raises TransientStoreError (tried again) or another StoreError (not).
    """
    if alone:
        one_thread_each()
    return engine.repair_windows(spec, numbers, run, named=named, report=report)
