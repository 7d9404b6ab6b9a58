"""The flow ``ingest-new-scenes``: what came since the last time becomes mosaics.

No postponed annotations in here: Prefect reads them as they stand.
"""

from contextlib import closing

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.states import Completed, Failed

from flows.forms.checked import checked
from flows.forms.parameters import AtOnce, Deployment, IngestName, Manifest, Store, To
from flows.forms.places import recorded_place
from flows.forms.recipe_parameters import Recipe, RecipeBlock, options_of
from flows.forms.run_names import ingest_run
from flows.forms.scene_selection import SceneSelection
from flows.reports.ingest import IngestReport, is_settled
from flows.reports.states import error_state
from flows.runs import flow_run
from flows.scenes.stopwatch import Stopwatch
from flows.shown.scene_table import show_scenes
from flows.starting.backfilling import Backfill, backfill
from flows.starting.launch import Where
from flows.starting.launching import PROCESS, Launcher, launcher_of
from scenemosaic.discovery.schedule import Schedule, open_schedule
from scenemosaic.discovery.selection import Selection, find_new
from scenemosaic.errors import Contended, SceneMosaicError
from scenemosaic.keys import ingest_ledger
from scenemosaic.ledger.log import recorded
from scenemosaic.store_session import StoreSession
from scenemosaic.stores import open_store


@flow(
    name="ingest-new-scenes",
    flow_run_name=ingest_run,
    persist_result=False,
    validate_parameters=False,  # by checked
)
@checked
def ingest_new_scenes(
    name: IngestName,
    scenes: SceneSelection,
    to: To = None,
    manifest: Manifest = None,
    store: Store = None,
    recipe: Recipe = None,
    recipe_block: RecipeBlock = None,
    at_once: AtOnce = 4,
    deployment: Deployment = PROCESS,
) -> "State[IngestReport]":
    """Turn what is new since the last run into mosaics; no job is started twice.

    Args:
        name: The schedule's name: what it has seen is kept under it, beside the ledgers.
        scenes: Where new scenes come: a prefix or a STAC search; at most so many a run.
        to: The root: a folder, s3://bucket/prefix, gs://… or az://…. Or give store.
        manifest: The manifest's URL, without a password; left out, the root's or the store's own.
        store: The name of a Scene Store block, instead of to.
        recipe: How every mosaic is made; left out, deflate, windows that suit the scene.
        recipe_block: The name of a Mosaic Recipe block, instead of recipe.
        at_once: How many scenes run at once.
        deployment: The deployment that processes a scene; empty, this very run does it.
    """
    try:
        place = recorded_place(to, manifest, store)
        options = options_of(recipe, recipe_block)
        wanted = Backfill(place, Where(to, manifest, store), options, at_once)
        with (
            closing(open_store(place.store.root, place.store.access)) as opened,
            recorded(StoreSession(opened), ingest_ledger(name), flow_run()) as session,
        ):
            report = _ingest(
                open_schedule(opened, name, effects=session.effects),
                *(scenes.selection(), wanted, launcher_of(deployment, at_once)),
            )
    except SceneMosaicError as error:
        return error_state(error, error)
    _show(name, report)
    state = Failed if report.has_failed else Completed
    return state(name=report.state, message=report.summary, data=report)


def _ingest(
    schedule: Schedule, selection: Selection, wanted: Backfill, launcher: Launcher
) -> IngestReport:
    watch = Stopwatch()
    new, left = find_new(selection, schedule.read())
    rows = backfill(new, wanted, launcher).rows
    settled = [one for one, row in zip(new, rows, strict=True) if is_settled(row)]
    kept = [one for one, row in zip(new, rows, strict=True) if not is_settled(row)]
    contended = False
    if settled:
        try:
            schedule.advance(settled, [*kept, *left], flow_run().run_id)
        except Contended:
            contended = True
    return IngestReport(rows, len(left), contended, watch.seconds)


def _show(name: str, report: IngestReport) -> None:
    said = f"{name}: {report.state}, {report.summary}"
    show_scenes("ingest-new-scenes", report.rows, said)
    get_run_logger().info(said)
