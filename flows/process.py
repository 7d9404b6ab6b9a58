"""The flow ``process-scene``: plan, mapped window batches, gap check, assembly."""

import uuid

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.logging import get_run_logger

from flows.limits import Limits, default_workers
from flows.observed import show_outcomes
from flows.report import ProcessReport
from flows.scene_run import run_scene
from flows.session import ACTIVE, Session, Silent
from flows.states import error_state, final_state
from flows.stopwatch import Stopwatch
from scenemosaic import job
from scenemosaic.errors import SceneMosaicError
from scenemosaic.job import Run
from scenemosaic.planning import PlanOptions


@flow(name="process-scene", persist_result=False)
def process_scene(
    sources: list[str],
    to: str,
    manifest: str | None = None,
    options: PlanOptions | None = None,
    workers: int | None = None,
    windows_per_task: int | None = None,
) -> "State[ProcessReport]":
    """Turn one scene into a mosaic COG, each output written at most once.

    Args:
        sources: Paths or URIs of the scene's rasters.
        to: The root: a folder, file:///folder or s3://bucket/prefix.
        manifest: The manifest's URL; left out, the root's default.
        options: Window size, block size, compression, resampling, date, collection.
        workers: Threads that work at once; left out, one a core and at most 8.
        windows_per_task: Windows a task run handles; left out, about two seconds of work.
    """
    watch = Stopwatch()
    try:
        limits = Limits(workers or default_workers(), windows_per_task)
        session = ACTIVE.get()
        if session is None:
            with watch.stage("plan", Silent()):
                spec = job.plan_job(sources, to, manifest, options or PlanOptions())
            session = Session(spec, Silent())
    except SceneMosaicError as error:
        return error_state(error, error)
    report = run_scene(session, _run(), limits, watch)
    session.reports.append(report)
    show_outcomes(report)
    get_run_logger().info("job %s: %s %s", report.job_id, report.summary, report.counters)
    return final_state(report)


def _run() -> Run:
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        name = str(uuid.uuid4())
    else:
        name = str(context.flow_run.id)
    return Run(run_id=name, written_by=name)
