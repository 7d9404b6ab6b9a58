"""The flow ``ingest-events``: scenes become mosaics as a queue says that they came.

No postponed annotations in here: Prefect reads them as they stand.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import httpx
from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.states import Completed, Failed

from flows.engines.limits import Limits, default_workers
from flows.forms.checked import checked
from flows.forms.parameters import AtOnce, HiddenS, ListenS, Manifest, QueueUrl, Store, To
from flows.forms.places import recorded_place
from flows.forms.recipe_parameters import Recipe, RecipeBlock, options_of
from flows.forms.run_names import events_run
from flows.redact import public_source
from flows.reports.events import EventsReport, EventsTally
from flows.reports.scene import ProcessReport
from flows.reports.states import error_state
from flows.runs import flow_run
from flows.scenes.run import run_scene
from flows.scenes.session import Session, Silent
from flows.scenes.stopwatch import Stopwatch
from flows.server.api import PrefectUnavailable
from flows.shown.observed import emit
from flows.shown.showing import TABLE_ROWS, optional
from flows.starting.jobs import plan_found
from scenemosaic.discovery.found import Found
from scenemosaic.errors import SceneMosaicError, StoreError
from scenemosaic.job import Run
from scenemosaic.places import Place
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.queues.consuming import Consumer, Listening
from scenemosaic.queues.sqs import SqsQueue
from scenemosaic.queues.verdict import Fate, SceneFate, fate_of


@flow(
    name="ingest-events",
    flow_run_name=events_run,
    persist_result=False,
    validate_parameters=False,  # by checked
)
@checked
def ingest_events(
    queue: QueueUrl,
    to: To = None,
    manifest: Manifest = None,
    store: Store = None,
    recipe: Recipe = None,
    recipe_block: RecipeBlock = None,
    for_s: ListenS = 300,
    at_once: AtOnce = 4,
    hidden_s: HiddenS = 300,
    stop_when_empty: bool = False,
) -> "State[EventsReport]":
    """Carry out the scenes that a queue's messages announce; each message may come twice.

    A message is acknowledged once its scenes are done, were there, or are in conflict. Any
    other is left to the queue, whose redrive policy decides when it is given up.

    Args:
        queue: The URL of an SQS queue that S3 or EventBridge tells of new objects.
        to: The root: a folder, s3://bucket/prefix, gs://… or az://…. Or give store.
        manifest: The manifest's URL, without a password; left out, the root's or the store's own.
        store: The name of a Scene Store block, instead of to.
        recipe: How every mosaic is made; left out, deflate, windows that suit the scene.
        recipe_block: The name of a Mosaic Recipe block, instead of recipe.
        for_s: For how many seconds messages are taken; what is in hand then is finished.
        at_once: How many messages are in hand at once.
        hidden_s: Seconds for which a message is hidden from others; renewed while in hand.
        stop_when_empty: End as soon as no message has come for 20 seconds.
    """
    watch, tally = Stopwatch(), EventsTally()
    try:
        place = recorded_place(to, manifest, store)
        scenes = Scenes(
            place,
            options_of(recipe, recipe_block),
            flow_run(),
            Limits(max(1, default_workers() // at_once)),
        )
        opened = SqsQueue(queue, hidden_s)
    except SceneMosaicError as error:
        return error_state(error, error)
    failure = _listen(opened, scenes.carry_out, tally, Listening(for_s, at_once, stop_when_empty))
    report = tally.report(failure, watch.seconds)
    _show(report)
    state = Failed if report.has_failed else Completed
    return state(name=report.state, message=report.summary, data=report)


def _listen(
    queue: SqsQueue,
    carry_out: Callable[[Found], SceneFate],
    tally: EventsTally,
    listening: Listening,
) -> StoreError | None:
    """The fault that kept the queue from being asked, if one did."""
    try:
        Consumer(queue, carry_out, tally.add).consume(listening)
    except StoreError as error:
        return error
    finally:
        queue.close()
    return None


@dataclass(frozen=True, slots=True)
class Scenes:
    """Carries scenes out, each as a run of its own inside this flow run."""

    place: Place
    options: PlanOptions
    run: Run
    limits: Limits
    # Two deliveries of one scene may be in hand at once: each has write-ids of its own.
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def carry_out(self, found: Found) -> SceneFate:
        """What became of the scene. Raises the project's own errors where it was not planned."""
        spec = plan_found(found, self.place, self.options).spec
        run = replace(self.run, run_id=f"{self.run.run_id}.{next(self._numbers)}")
        try:
            report = run_scene(Session(spec, Silent()), run, self.limits, Stopwatch())
        except httpx.HTTPError as error:
            raise PrefectUnavailable(f"Prefect's API does not answer ({error})") from error
        fate = _fate(public_source(found.source), report)
        if fate.fate is not Fate.PRESENT:
            emit(spec, report)
        return fate


def _fate(source: str, report: ProcessReport) -> SceneFate:
    if report.error is not None:
        fate, detail = fate_of(report.error), str(report.error)
    elif report.superseded:
        fate, detail = Fate.CONFLICT, "a newer version of the mosaic stands there"
    else:
        fate, detail = Fate.PRESENT if report.all_was_there else Fate.DONE, report.summary
    return SceneFate(source, fate, detail, report.job_id)


def _show(report: EventsReport) -> None:
    with optional("the table of events"):
        create_table_artifact(
            table=[row.to_table() for row in report.rows[:TABLE_ROWS]],
            key="ingest-events",
            description=f"{report.state}: {report.summary}",
        )
    get_run_logger().info("%s: %s", report.state, report.summary)
