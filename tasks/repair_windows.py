"""Repair a batch of windows: inspect, compare, replace what is still as inspected, for each."""

from collections.abc import Callable

from prefect import task

from scenemosaic.job import JobSpec, Run
from scenemosaic.repair import engine
from scenemosaic.repair.engine import RepairBatch, WindowRepair
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
) -> RepairBatch:
    """Repair the windows ``numbers``; superseded, target-gone and failed are outcomes.

    Raises TransientStoreError (tried again) or another StoreError (not).
    """
    return engine.repair_windows(spec, numbers, run, named=named, report=report)
