"""The windows of a repair, in mapped batches on an engine's workers, inside a flow run."""

from functools import partial
from typing import Any

from prefect import Flow, unmapped
from prefect.client.schemas.objects import State

from flows.engines import batches
from flows.engines.clusters import collect, pool_of
from flows.engines.limits import Limits
from flows.engines.own_cluster import OwnCluster
from flows.server import lost
from flows.server.api import PrefectUnavailable
from scenemosaic.auditing.audit import Record
from scenemosaic.job import Run
from scenemosaic.repair.engine import RepairBatch, Survey, WindowRepair
from tasks.repair_windows import repair_windows


def all_windows(
    found: Survey, *, run: Run, limits: Limits, unrecorded: list[Record]
) -> list[WindowRepair]:
    """What became of every window; ``unrecorded`` takes what the audit log could not.

    What a worker had replaced that died is told as written: its object says by which run.
    """
    size = batches.batch_size(found.spec.plan.recipe, len(found.numbers), limits.workers)
    parameters = {
        "spec": unmapped(found.spec),
        "numbers": batches.split(found.numbers, size),
        "run": unmapped(run),
        "named": unmapped(found.named),
        "alone": unmapped(limits.engine.crosses),
    }
    batch_task: Any = repair_windows  # Prefect's overloads take every task for an async one
    outcomes: list[WindowRepair] = []

    def take(batch: RepairBatch) -> None:
        unrecorded.extend(batch.unrecorded)
        outcomes.extend(batch.outcomes)

    with OwnCluster(limits) as cluster, pool_of(cluster, found.spec) as pool:
        collect([*pool.runner.map(batch_task, parameters)], pool, take)
    return sorted(outcomes, key=lambda one: one.window)


def all_windows_in_a_flow(
    found: Survey, *, run: Run, limits: Limits, unrecorded: list[Record]
) -> list[WindowRepair]:
    """The same for a command, which is no flow run: Prefect knows it by the job's ID alone.

    Raises PrefectUnavailable.
    """
    work = partial(all_windows, found, run=run, limits=limits, unrecorded=unrecorded)

    def repair_job(job_id: str) -> list[WindowRepair]:
        return work()

    flow: Any = Flow(repair_job, name="repair-windows", persist_result=False)
    try:
        state: State[Any] = flow(found.spec.plan.job_id, return_state=True)
    except lost.LOST as error:
        said = f"{lost.said(error)}; what was replaced stays: run the command again"
        raise PrefectUnavailable(said) from error
    outcomes: list[WindowRepair] = state.result()
    return outcomes
