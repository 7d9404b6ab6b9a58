"""One run of one scene, inside a flow: what is missing, its batches, the gap check, the mosaic."""

import logging
from functools import partial
from typing import Any

from prefect import unmapped

from flows.engines import batches
from flows.engines.clusters import collect, pool_of
from flows.engines.limits import Limits
from flows.engines.own_cluster import OwnCluster, shared
from flows.reports.scene import ProcessReport
from flows.scenes.preparing import prepare_job
from flows.scenes.session import Session
from flows.scenes.stopwatch import Stopwatch
from flows.scenes.tally import Tally
from flows.scenes.top_boxes import make_boxes
from scenemosaic import job
from scenemosaic.errors import SceneMosaicError, StoreError
from scenemosaic.job import BatchResult, JobSpec, MosaicResult, Run
from tasks.assemble_mosaic import assemble_mosaic
from tasks.commit_windows import commit_windows

_log = logging.getLogger(__name__)


def run_scene(session: Session, run: Run, limits: Limits, watch: Stopwatch) -> ProcessReport:
    """Carry out a planned job; the project's own errors come back inside the report."""
    plan = session.spec.plan
    tally = Tally(len(plan.recipe.tiling()), session.observer)
    mosaic: MosaicResult | None = None
    failure: SceneMosaicError | None = None
    try:
        mosaic = _carry_out(session, run, limits, watch, tally)
    except SceneMosaicError as error:
        failure = error
    failure = failure or _record_rest(session, run, tally)
    return tally.report(plan.job_id, mosaic, failure, tuple(watch.stages), watch.seconds)


def _record_rest(session: Session, run: Run, tally: Tally) -> SceneMosaicError | None:
    """The fault that still keeps records out of the audit log, if any does."""
    try:
        job.record_rest(session.spec, run, tally.unrecorded)
    except SceneMosaicError as error:
        return error
    return None


def _carry_out(
    session: Session, run: Run, limits: Limits, watch: Stopwatch, tally: Tally
) -> MosaicResult:
    spec, observer = session.spec, session.observer
    tally.trace(session.trace)
    if not session.prepared:
        if (mosaic := job.finished(spec)) is not None:
            return mosaic
        tally.trace(prepare_job(spec, run, _log.info, limits.engine))
    _map_all(session, run, limits, watch, tally)
    with watch.stage("assembly", observer):
        mosaic = assemble_mosaic(spec, run, observer.copied)
    tally.trace(mosaic.trace)
    return mosaic


def _map_all(session: Session, run: Run, limits: Limits, watch: Stopwatch, tally: Tally) -> None:
    """Windows and top boxes, by the same workers; those of this run alone end with it."""
    try:
        with shared(session.cluster, limits) as cluster:
            with watch.stage("windows", session.observer):
                _commit_missing(session.spec, run, cluster, tally)
            with watch.stage("gap check", session.observer):
                tally.check(job.find_gaps(session.spec))
            make_boxes(session, run, cluster, watch, tally)
    except SceneMosaicError:
        if limits.engine.crosses:
            _ask_again(session.spec, tally)
        raise


def _commit_missing(spec: JobSpec, run: Run, cluster: OwnCluster, tally: Tally) -> None:
    recipe, limits = spec.plan.recipe, cluster.limits
    numbers = job.missing_windows(spec)
    tally.begin(recipe.tiling().window(number).name for number in numbers)
    if not numbers:
        return
    size = limits.windows_per_task or batches.batch_size(recipe, len(numbers), limits.workers)
    crosses = limits.engine.crosses
    parameters = {
        "spec": unmapped(spec),
        "numbers": batches.split(numbers, size),
        "run": unmapped(run),
        "report": unmapped(None if crosses else tally.add),
        "alone": unmapped(crosses),
    }
    batch_task: Any = commit_windows  # Prefect's overloads take every task for an async one
    with pool_of(cluster, spec) as pool:
        collect([*pool.runner.map(batch_task, parameters)], pool, partial(_add, tally))


def _ask_again(spec: JobSpec, tally: Tally) -> None:
    """What a batch in another process committed before its fault, nobody here was told."""
    try:
        tally.left(job.find_gaps(spec).missing)
    except StoreError as error:
        _log.warning("what is missing is not known for sure: %s", error)


def _add(tally: Tally, result: BatchResult) -> None:
    for outcome in result.outcomes:
        tally.add(outcome)
    tally.count(result.counters, result.unrecorded)
