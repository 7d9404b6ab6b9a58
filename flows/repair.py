"""The flow ``repair-scene``: verification, mapped repairs of windows, the next revision.

No postponed annotations in here: Prefect reads them as they stand.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.states import Completed

from flows.engines.engine import Engine
from flows.engines.limits import Limits, limits_of
from flows.engines.reaching import check_answers
from flows.forms.checked import checked
from flows.forms.parameters import (
    EngineAddress,
    EngineChoice,
    GivenSources,
    JobId,
    Manifest,
    Store,
    To,
    Windows,
    Workers,
)
from flows.forms.places import planned, recorded_place
from flows.forms.run_names import job_run
from flows.reports.scene import ProcessReport
from flows.reports.states import error_state, final_state
from flows.runs import flow_run
from flows.scenes.repairing import all_windows
from flows.scenes.session import Session, Silent
from flows.shown.showing import TABLE_ROWS, optional
from flows.starting.planned_run import process_planned
from scenemosaic import job
from scenemosaic.auditing.audit import Record
from scenemosaic.errors import SceneMosaicError, SourceChanged
from scenemosaic.job import JobSpec, MosaicResult, Run
from scenemosaic.places import Place
from scenemosaic.plans.asked_again import options_of
from scenemosaic.repair import restore_plan
from scenemosaic.repair.engine import RepairReport, Survey, carry_out, survey
from scenemosaic.repair.sources import find_sources
from tasks.assemble_mosaic import assemble_mosaic


@flow(
    name="repair-scene",
    flow_run_name=job_run,
    persist_result=False,
    validate_parameters=False,  # by checked
)
@checked
def repair_scene(
    job_id: JobId,
    to: To = None,
    manifest: Manifest = None,
    store: Store = None,
    windows: Windows = None,
    sources: GivenSources = None,
    accept_new_source: bool = False,
    workers: Workers = None,
    strict_history: bool = False,
    engine: EngineChoice = "threads",
    engine_address: EngineAddress = None,
) -> "State[RepairReport]":
    """Repair what is wrong with a job, and publish its mosaic's next revision.

    Args:
        job_id: The job's ID, all 32 hex digits of it.
        to: The root: a folder, s3://bucket/prefix, gs://… or az://…. Or give store.
        manifest: The manifest's URL, without a password; left out, the root's or the store's own.
        store: The name of a Scene Store block, instead of to.
        windows: These windows, such as 0007_0012; left out, all that are found wrong.
        sources: Where the job's sources lie; a local file's place is not known to its plan.
        accept_new_source: Where a source has changed, make a new job with the same recipe.
        workers: How many work at once; left out, one a core and at most 8, or two processes.
        strict_history: Refuse to write where something once stood and was deleted.
        engine: What windows are computed by: this machine's threads, or a cluster's processes.
        engine_address: The scheduler of a cluster that runs already; left out, one is started.
    """
    given = sources or []
    try:
        chosen = Engine(engine, engine_address)
        limits = limits_of(workers, None, strict_history, chosen)
        check_answers(chosen)
        place, run = recorded_place(to, manifest, store), flow_run(strict_history=strict_history)
        spec, restored = restore_plan.load(job_id, place, given, run)
    except SceneMosaicError as error:
        return error_state(error, error)
    try:
        found = survey(spec, windows or [], given)
    except SourceChanged as error:
        if not accept_new_source:
            return error_state(error, error)
        return _process_anew(spec, given, place, limits)
    except SceneMosaicError as error:
        return error_state(error, error)
    return _repair(found, run, limits, restored)


def _process_anew(spec: JobSpec, given: list[str], place: Place, limits: Limits) -> "State[Any]":
    """Another source is another job: the old one stays as it is."""
    try:
        new = planned(find_sources(spec, given), place, options_of(spec.plan))
    except SceneMosaicError as error:
        return error_state(error, error)
    state = process_planned(Session(new, Silent()), limits)
    report = state.result(raise_on_failure=False)
    # A state of this run's own: the other one belongs to the run below it.
    return final_state(report) if isinstance(report, ProcessReport) else state


def _repair(found: Survey, run: Run, limits: Limits, restored: bool) -> "State[RepairReport]":
    unrecorded: list[Record] = []
    publish = partial(_publish, found.spec, run, unrecorded)
    report = carry_out(
        found, partial(all_windows, run=run, limits=limits, unrecorded=unrecorded), publish
    )
    report = replace(report, plan_restored=restored)
    _show(report)
    try:
        job.record_rest(found.spec, run, unrecorded)
    except SceneMosaicError as error:
        return error_state(error, report)
    if report.error is not None:
        return error_state(report.error, report)
    return Completed(name=report.state, message=report.summary, data=report)


def _publish(spec: JobSpec, run: Run, unrecorded: list[Record], renew: bool) -> MosaicResult:
    mosaic: MosaicResult = assemble_mosaic(spec, run, renew=renew)
    unrecorded += mosaic.trace.unrecorded
    return mosaic


def _show(report: RepairReport) -> None:
    with optional(f"job {report.job_id}"):
        create_table_artifact(
            table=[one.to_json() for one in report.windows[:TABLE_ROWS]],
            key=f"repair-{report.job_id}",
            description=f"Job {report.job_id}: {report.summary}",
        )
    get_run_logger().info("job %s: %s", report.job_id, report.summary)
