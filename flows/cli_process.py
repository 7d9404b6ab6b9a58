"""``scenemosaic process``: plan and check first, Prefect only once there is work for it."""

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from flows import plan_text
from flows.console import Console, shown
from flows.limits import Limits
from flows.preparing import prepare_job
from flows.progress import Progress, in_bytes, in_seconds
from flows.redact import public_manifest, public_source
from flows.report import ProcessReport, Stage
from flows.server import PrefectUnavailable, configured_api, ensure_api
from flows.session import ACTIVE, Session
from flows.stopwatch import Stopwatch
from scenemosaic import job
from scenemosaic.errors import SceneMosaicError
from scenemosaic.job import JobSpec, PlanOptions, Run

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    sources: tuple[str, ...]
    to: str
    manifest: str | None
    options: PlanOptions
    limits: Limits


def dry_run(request: Request, console: Console) -> int:
    """Print the plan; nothing is written, not even the manifest, and no store is asked."""
    spec = _plan(request)
    console.answer(plan_text.as_json(spec, request.limits), plan_text.as_text(spec, request.limits))
    return 0


def process(request: Request, console: Console) -> int:
    """Carry out the job and answer; the exit code. Raises SceneMosaicError before it begins."""
    watch = Stopwatch()
    progress = console.progress()
    try:
        report = _report(request, progress, watch)
    finally:
        progress.close()
    report = replace(report, seconds=watch.seconds)
    if report.error is not None:
        return console.fail(report.error, report.to_json())
    console.answer(report.to_json(), as_text(report))
    return report.exit_code


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
    if mosaic is None:
        name = f"cli-{uuid.uuid4()}"
        prepare_job(spec, Run(run_id=name, written_by=name), progress.say)
    planned_s = watch.seconds
    ensure_api(progress.say)
    report = _run_flow(request, Session(spec, progress, prepared=mosaic is None))
    around_s = watch.seconds - planned_s - sum(stage.seconds for stage in report.stages)
    stages = (*watch.stages, Stage("Prefect", around_s), *report.stages)
    return replace(report, stages=stages)


def _plan(request: Request) -> JobSpec:
    return job.plan_job(request.sources, request.to, request.manifest, request.options)


def _run_flow(request: Request, session: Session) -> ProcessReport:
    import httpx

    from flows.process import process_scene

    _quiet_prefect()
    token = ACTIVE.set(session)
    try:
        state = process_scene(
            _public(request.sources),
            session.spec.root,
            public_manifest(session.spec.manifest),
            request.options,
            request.limits.workers,
            request.limits.windows_per_task,
            return_state=True,
        )
    except httpx.TransportError as error:
        return _unrecorded(session, error)
    finally:
        ACTIVE.reset(token)
    return _value(state.result(raise_on_failure=False))


def _unrecorded(session: Session, error: Exception) -> ProcessReport:
    """What was done counts, also where Prefect could not be told."""
    if not session.reports:
        raise PrefectUnavailable(
            f"Prefect's API went away ({error}); what is committed stays: run the command again"
        ) from error
    _log.warning("Prefect's API went away (%s): it will show this run as still running", error)
    return session.reports[-1]


def _public(sources: Sequence[str]) -> list[str]:
    """Flow parameters are kept and shown by Prefect: the session holds what is really opened."""
    return [public_source(source) for source in sources]


def _value(result: object) -> ProcessReport:
    if isinstance(result, ProcessReport):
        return result
    if isinstance(result, BaseException):
        raise result
    raise SceneMosaicError(f"the flow returned {type(result).__name__}, which is a bug")


class _NotRoutine(logging.Filter):
    """Runs and their ends are in Prefect's records; here the command says them its own way."""

    def filter(self, record: logging.LogRecord) -> bool:
        routine = record.name.startswith(("prefect.flow_runs", "prefect.task_runs"))
        return not routine and record.levelno >= logging.WARNING


def _quiet_prefect() -> None:
    for handler in logging.getLogger().handlers:
        handler.addFilter(_NotRoutine())


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
