"""The flow ``publish``: a named job becomes the latest, a slot a day and one run at a time.

No postponed annotations in here: Prefect reads them as they stand.
"""

from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Final

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.logging import get_run_logger
from prefect.states import Completed

from flows.approval import ask
from flows.forms.checked import checked
from flows.forms.parameters import (
    ApproveWithin,
    JobId,
    LedgerName,
    Manifest,
    RunId,
    Slots,
    Store,
    TimeZone,
    To,
)
from flows.forms.places import loaded, recorded_place
from flows.forms.run_names import job_run
from flows.reports.states import error_state
from flows.shown.showing import optional
from flows.texts import publication as publication_text
from flows.who import operator
from scenemosaic.errors import SceneMosaicError
from scenemosaic.job import JobSpec
from scenemosaic.ledger.book import DEFAULT_NAME, Wanted
from scenemosaic.publishing.inspection import inspect
from scenemosaic.publishing.latest import Target
from scenemosaic.publishing.publication import Publication, settled
from tasks.publish_pointer import publish_pointer

PUBLISHED_EVENT: Final = "scenemosaic.mosaic.published"
WEEK_S: Final = 604_800


@dataclass(frozen=True, slots=True)
class Given:
    """What a command hands over beside the parameters, which Prefect keeps and shows.

    ``results`` is told what came of it, whatever Prefect makes of the run's last state.
    """

    spec: JobSpec
    results: list[Publication | SceneMosaicError] = field(default_factory=list)


GIVEN: Final[ContextVar[Given | None]] = ContextVar("scenemosaic_publish", default=None)


@flow(
    name="publish",
    flow_run_name=job_run,
    persist_result=False,
    validate_parameters=False,  # by checked
)
@checked
def publish(
    job_id: JobId,
    to: To = None,
    manifest: Manifest = None,
    store: Store = None,
    ledger: LedgerName = DEFAULT_NAME,
    slots: Slots = 1,
    time_zone: TimeZone = "UTC",
    approve: bool = False,
    approve_within_s: ApproveWithin = WEEK_S,
    run_id: RunId = None,
) -> "State[Publication]":
    """Let latest.json name the current mosaic of one job.

    Args:
        job_id: The job, by all 32 hex digits of its ID. It has to be finished.
        to: The root: a folder, s3://bucket/prefix, gs://… or az://…. Or give store.
        manifest: The manifest's URL, without a password; left out, the root's or the store's own.
        store: The name of a Scene Store block, instead of to.
        ledger: The ledger's name. Publishers that must not run at once share one.
        slots: How many publications a day may have, from 1 to 100.
        time_zone: Whose days: an IANA name such as Europe/Berlin.
        approve: Wait until a person resumes the run and says who approves.
        approve_within_s: How many seconds a person has for that.
        run_id: Another name for this publication than the flow run's ID.
    """
    given = GIVEN.get()
    try:
        spec = loaded(job_id, recorded_place(to, manifest, store)) if given is None else given.spec
        wanted = Wanted(run_id or _run_id(), job_id, slots, time_zone, operator())
        found: Publication | SceneMosaicError | None = None
        if not approve:
            found = publish_pointer(spec, ledger, wanted, None)
        elif (found := settled(spec, ledger, wanted)) is None:  # else nobody need be asked
            target = inspect(spec)
            wanted = replace(wanted, approved_by=ask(target, spec.root, approve_within_s))
            found = publish_pointer(spec, ledger, wanted, target)
    except SceneMosaicError as error:
        found = error
    if given is not None:
        given.results.append(found)
    if isinstance(found, SceneMosaicError):
        return error_state(found, found)
    _show(found)
    return _state(found)


def _run_id() -> str:
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        raise SceneMosaicError("publish is no flow run, which is a bug: give run_id")
    return str(context.flow_run.id)


def _state(found: Publication) -> State[Any]:
    if found.conflict is not None:
        return error_state(found.conflict, found)
    name = "AlreadyPublished" if found.already else "Published"
    return Completed(name=name, message=f"job {found.wanted.job_id}", data=found)


def _show(found: Publication) -> None:
    """One artifact, and an event where something was published."""
    job_id, outcome = found.wanted.job_id, publication_text.outcome(found)
    with optional(f"job {job_id}"):
        create_table_artifact(
            table=publication_text.table(found),
            key=f"publication-{job_id}",
            description=f"Publication of job {job_id}: {outcome}",
        )
    get_run_logger().info("job %s: %s %s", job_id, outcome, found.counters)
    if found.conflict is None and not found.already and found.latest is not None:
        _emit(found, found.latest.target)


def _emit(found: Publication, target: Target) -> None:
    emit_event(
        PUBLISHED_EVENT,
        resource={"prefect.resource.id": f"scenemosaic.job.{target.job_id}"},
        payload={
            "job_id": target.job_id,
            "revision": target.pinned.revision,
            "digest": target.pinned.digest,
            "version_id": target.pinned.version_id,
            "ledger": found.ledger,
            "run_id": found.wanted.run_id,
        },
    )
