"""``scenemosaic process``: plan and check first, Prefect only once there is work for it."""

import logging
from dataclasses import dataclass, replace

from flows.engines.limits import Limits
from flows.forms.scene_parameters import scene_parameters
from flows.in_process import quiet_prefect
from flows.reports.scene import ProcessReport, Stage
from flows.runs import command_run
from flows.scenes.preparing import prepare_job
from flows.scenes.session import Session
from flows.scenes.stopwatch import Stopwatch
from flows.server.api import PrefectUnavailable, configured_api, ensure_api
from flows.terminal.console import Console, shown
from flows.terminal.progress import Progress, in_bytes, in_seconds
from flows.texts import plan as plan_text
from scenemosaic import job
from scenemosaic.auditing.trail import Trace
from scenemosaic.errors import SceneMosaicError
from scenemosaic.job import JobSpec, PlanOptions
from scenemosaic.machine import collector
from scenemosaic.places import Place

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    sources: tuple[str, ...]
    place: Place
    options: PlanOptions
    limits: Limits


def dry_run(request: Request, console: Console) -> int:
    """Print the plan; nothing is written, and no store is asked but for a job that is reused."""
    spec = _plan(request)
    scene_parameters(spec, request.limits)
    job.log_notes(spec)
    console.answer(plan_text.as_json(spec, request.limits), plan_text.as_text(spec, request.limits))
    return 0


def process(request: Request, console: Console) -> int:
    """Carry out the job and answer; the exit code. Raises SceneMosaicError before it begins."""
    report = carry_out(request, console)
    if report.error is not None:
        return console.fail(report.error, report.to_json())
    console.answer(report.to_json(), as_text(report))
    return report.exit_code


def carry_out(request: Request, console: Console) -> ProcessReport:
    """Carry out the job. Raises SceneMosaicError before it begins."""
    watch = Stopwatch()
    progress = console.progress()
    try:
        report = _report(request, progress, watch)
    finally:
        progress.close()
    return replace(report, seconds=watch.seconds)


def _report(request: Request, progress: Progress, watch: Stopwatch) -> ProcessReport:
    with watch.stage("plan", progress):
        spec = _plan(request)
        mosaic = job.finished(spec)
    # A temporary server would be started to record what nobody will ever read.
    if mosaic is not None and configured_api() is None:
        count = len(spec.plan.recipe.tiling())
        return ProcessReport(
            spec.plan.job_id, count, 0, count, (), watch.seconds, mosaic, None, tuple(watch.stages)
        )
    scene_parameters(spec, request.limits)  # refused before anything is written
    trace = Trace()
    if mosaic is None:
        run = command_run(strict_history=request.limits.strict_history)
        trace = prepare_job(spec, run, progress.say, request.limits.engine)
        job.log_notes(spec)
    planned_s = watch.seconds
    ensure_api(progress.say)
    report = _run_flow(request, Session(spec, progress, mosaic is None, trace))
    around_s = watch.seconds - planned_s - sum(stage.seconds for stage in report.stages)
    stages = (*watch.stages, Stage("Prefect", around_s), *report.stages)
    return replace(report, stages=stages)


def _plan(request: Request) -> JobSpec:
    return job.plan_at(request.sources, request.place, request.options)


def _run_flow(request: Request, session: Session) -> ProcessReport:
    from flows.server import lost
    from flows.starting.planned_run import process_planned

    collector.work()
    quiet_prefect()
    try:
        state = process_planned(session, request.limits, request.options)
    except lost.LOST as error:
        return _unrecorded(session, error, lost.said(error))
    return _value(state.result(raise_on_failure=False))


def _unrecorded(session: Session, error: Exception, said: str) -> ProcessReport:
    """What was done counts, also where Prefect could not be told."""
    if not session.reports:
        raise PrefectUnavailable(
            f"{said}; what is committed stays: run the command again"
        ) from error
    _log.warning("%s: it will show this run as still running", said)
    return session.reports[-1]


def _value(result: object) -> ProcessReport:
    if isinstance(result, ProcessReport):
        return result
    if isinstance(result, BaseException):
        raise result
    raise SceneMosaicError(f"the flow returned {type(result).__name__}, which is a bug")


def as_text(report: ProcessReport) -> str:
    """The result for people."""
    lines = [f"job      {report.job_id}", f"windows  {report.summary}"]
    if report.mosaic is not None:
        mosaic = report.mosaic
        lines += [
            f"mosaic   {shown(mosaic.uri)} ({in_bytes(mosaic.bytes)}, {mosaic.outcome})",
            f"preview  {shown(mosaic.preview)}",
            f"item     {shown(mosaic.item)}",
        ]
    times = [f"{stage.name} {in_seconds(stage.seconds)}" for stage in report.stages]
    return "\n".join(
        [*lines, f"time     {' · '.join([*times, in_seconds(report.seconds)])} in all"]
    )
