"""``scenemosaic repair`` and ``waive``: without Prefect, where threads do."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from flows.engines import batches
from flows.engines.limits import Limits
from flows.engines.reaching import check_answers
from flows.runs import command_run
from flows.scenes.stopwatch import Stopwatch
from flows.server.api import ensure_api
from flows.terminal.console import Console, shown
from flows.terminal.progress import Progress, in_bytes, in_seconds
from flows.texts.repair import repair_json
from scenemosaic import job
from scenemosaic.auditing.audit import Record
from scenemosaic.errors import SceneMosaicError, SourceChanged
from scenemosaic.job import JobSpec, MosaicResult, Run
from scenemosaic.ledger.book import DEFAULT_NAME
from scenemosaic.next_step import command
from scenemosaic.places import Place
from scenemosaic.plans.asked_again import options_of
from scenemosaic.publishing.pointer import read_latest
from scenemosaic.repair import engine
from scenemosaic.repair.engine import RepairReport, Survey, WindowRepair
from scenemosaic.repair.restore_plan import load
from scenemosaic.repair.sources import find_sources
from scenemosaic.repair.waive import waive as waive_windows
from scenemosaic.session import open_session

_SHOWN = 50
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    job_id: str
    place: Place
    names: tuple[str, ...]
    sources: tuple[str, ...]
    accept_new_source: bool
    limits: Limits


def repair(request: Request, console: Console) -> int:
    """Repair a job and say what became of it; the exit code."""
    check_answers(request.limits.engine)
    run = command_run(strict_history=request.limits.strict_history)
    spec, restored = load(request.job_id, request.place, request.sources, run)
    try:
        report = replace(_repair(spec, request, run, console), plan_restored=restored)
    except SourceChanged:
        if not request.accept_new_source:
            raise
        return _process_anew(spec, request, console)
    if report.error is not None:
        return console.fail(report.error, repair_json(report))
    console.answer(repair_json(report), "\n".join([as_text(report), *_to_publish(spec, report)]))
    return report.exit_code


def _to_publish(spec: JobSpec, report: RepairReport) -> list[str]:
    """The command that moves ``latest.json``, where that names an older revision of the job."""
    if report.mosaic is None:
        return []
    try:
        latest = read_latest(open_session(spec).store)
    except SceneMosaicError as error:
        _log.warning("repaired; what is published is not known: %s", error)
        return []
    if latest is None or latest.target.job_id != report.job_id:
        return []
    revision = latest.target.pinned.revision
    if revision >= report.mosaic.revision:
        return []
    ledger = [] if latest.ledger == DEFAULT_NAME else ["--ledger", latest.ledger]
    publish = command("publish", report.job_id, spec.place, *ledger)
    return [f"latest   latest.json names revision {revision} still: {publish} moves it"]


def _repair(spec: JobSpec, request: Request, run: Run, console: Console) -> RepairReport:
    watch, progress = Stopwatch(), console.progress()
    unrecorded: list[Record] = []
    try:
        with watch.stage("verify", progress):
            found = engine.survey(spec, request.names, request.sources, progress.verified)
        report = engine.carry_out(
            found,
            partial(_windows_of(request.limits, progress), run=run, unrecorded=unrecorded),
            partial(_publish, spec, run, progress, unrecorded),
        )
        job.record_rest(spec, run, unrecorded)
    finally:
        progress.close()
    return replace(report, seconds=watch.seconds)


def _windows_of(limits: Limits, progress: Progress) -> Callable[..., list[WindowRepair]]:
    if limits.engine.crosses:
        return partial(_on_engine, limits=limits, progress=progress)
    return partial(_on_threads, limits=limits)


def _on_engine(found: Survey, *, progress: Progress, **given: Any) -> list[WindowRepair]:
    ensure_api(progress.say)
    from flows.in_process import quiet_prefect
    from flows.scenes.repairing import all_windows_in_a_flow

    quiet_prefect()
    return all_windows_in_a_flow(found, **given)


def _on_threads(
    found: Survey, *, run: Run, limits: Limits, unrecorded: list[Record]
) -> list[WindowRepair]:
    size = batches.batch_size(found.spec.plan.recipe, len(found.numbers), limits.workers)
    work = partial(engine.repair_windows, found.spec, run=run, named=found.named)
    with ThreadPoolExecutor(limits.workers) as pool:
        done = list(pool.map(work, batches.split(found.numbers, size)))
    for batch in done:
        unrecorded += batch.unrecorded
    return [outcome for batch in done for outcome in batch.outcomes]


def _publish(
    spec: JobSpec, run: Run, progress: Progress, unrecorded: list[Record], renew: bool
) -> MosaicResult:
    mosaic = job.assemble(spec, run, progress.copied, renew=renew)
    unrecorded += mosaic.trace.unrecorded
    return mosaic


def as_text(report: RepairReport) -> str:
    """The result for people."""
    lines = [f"job      {report.job_id}"]
    lines += [f"wrong    {one.subject}: {one.detail}" for one in report.wrong[:_SHOWN]]
    for one in report.windows[:_SHOWN]:
        what = f"{one.outcome}, row mended" if one.mended else one.outcome
        lines.append(f"window   {one.window} {what}" + (f": {one.detail}" if one.detail else ""))
    if (more := len(report.windows) - _SHOWN) > 0:
        lines.append(f"… and {more} more; --json names them all")
    lines.append(f"windows  {report.summary}")
    if report.mosaic is not None:
        mosaic = report.mosaic
        lines.append(f"mosaic   {shown(mosaic.uri)} ({in_bytes(mosaic.bytes)}, {mosaic.outcome})")
    if report.former_mosaic is not None:
        damaged = ", damaged," if report.was_damaged else ""
        lines.append(
            f"former   {report.former_mosaic} stays as it was{damaged} and is named no longer: "
            "item.json says where the mosaic is"
        )
    lines += [f"left     {one.subject}: {one.detail}" for one in report.left[:_SHOWN]]
    return "\n".join([*lines, f"time     {in_seconds(report.seconds)} in all"])


def _process_anew(spec: JobSpec, request: Request, console: Console) -> int:
    """Another source is another job: the old one stays as it is."""
    from flows.verbs import process as cli_process

    sources = find_sources(spec, request.sources)
    process = cli_process.Request(sources, request.place, options_of(spec.plan), request.limits)
    report = cli_process.carry_out(process, console)
    value = report.to_json() | {"new_job_id": report.job_id, "instead_of": spec.plan.job_id}
    if report.error is not None:
        return console.fail(report.error, value)
    text = f"job {spec.plan.job_id} stays as it is; its new source is job {report.job_id}"
    console.answer(value, f"{text}\n{cli_process.as_text(report)}")
    return report.exit_code


def waive(
    job_id: str,
    place: Place,
    names: Sequence[str],
    reason: str,
    sources: Sequence[str],
    console: Console,
) -> int:
    """Let windows hold nodata, and say what is to be done next."""
    spec = job.load_at(job_id, place)
    if sources:
        spec = replace(spec, locations=find_sources(spec, sources))
    waived = waive_windows(spec, names, reason, command_run())
    missing = job.find_gaps(spec).missing
    value = {
        "job_id": job_id,
        "windows": [{"window": one.window, "outcome": one.outcome} for one in waived],
        "reason": reason.strip(),
        "missing": list(missing),
    }
    lines = [f"window   {one.window} holds nodata ({one.outcome})" for one in waived]
    next_step = (
        f"missing  {' '.join(missing[:_SHOWN])}"
        if missing
        else f"next     {command('assemble', job_id, spec.place)}"
    )
    console.answer(value, "\n".join([*lines, next_step]))
    return 0
