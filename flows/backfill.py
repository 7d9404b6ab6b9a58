"""The flow ``backfill-scenes``: many scenes, each a run of ``process-scene``.

No postponed annotations in here: Prefect reads them as they stand.
"""

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.states import Completed, Failed

from flows.engines.engine import Engine
from flows.forms.checked import checked
from flows.forms.parameters import (
    AtOnce,
    Attempt,
    Deployment,
    EngineAddress,
    EngineChoice,
    Manifest,
    Mode,
    Store,
    To,
)
from flows.forms.places import recorded_place
from flows.forms.recipe_parameters import Recipe, RecipeBlock, options_of
from flows.forms.run_names import backfill_run
from flows.forms.scene_selection import SceneSelection
from flows.reports.backfill import BackfillReport
from flows.reports.states import error_state
from flows.shown.scene_table import show_scenes
from flows.starting.backfilling import Backfill, backfill
from flows.starting.launch import Where
from flows.starting.launching import PROCESS, launcher_of
from scenemosaic.discovery.selection import find
from scenemosaic.errors import SceneMosaicError


@flow(
    name="backfill-scenes",
    flow_run_name=backfill_run,
    persist_result=False,
    validate_parameters=False,  # by checked
)
@checked
def backfill_scenes(
    scenes: SceneSelection,
    to: To = None,
    manifest: Manifest = None,
    store: Store = None,
    recipe: Recipe = None,
    recipe_block: RecipeBlock = None,
    at_once: AtOnce = 4,
    mode: Mode = "missing",
    attempt: Attempt = 1,
    dry_run: bool = False,
    deployment: Deployment = PROCESS,
    engine: EngineChoice = "threads",
    engine_address: EngineAddress = None,
) -> "State[BackfillReport]":
    """Turn many scenes into mosaics, so many at once; what is finished is not touched.

    Args:
        scenes: Which scenes: exactly one of a list, a prefix and a STAC search.
        to: The root: a folder, s3://bucket/prefix, gs://… or az://…. Or give store.
        manifest: The manifest's URL, without a password; left out, the root's or the store's own.
        store: The name of a Scene Store block, instead of to.
        recipe: How every mosaic is made; left out, deflate, windows that suit the scene.
        recipe_block: The name of a Mosaic Recipe block, instead of recipe.
        at_once: How many scenes run at once.
        mode: missing runs what is not finished; again also looks at what is.
        attempt: Raise it where an earlier backfill's runs have failed, to have them run again.
        dry_run: Show what would run, and write nothing.
        deployment: The deployment that processes a scene; empty, this very run does it.
        engine: What windows are computed by: threads, or a cluster's processes; each of the
            deployment's runs starts its own, all of this very run share one.
        engine_address: The scheduler of a cluster that runs already; left out, one is started.
    """
    try:
        place = recorded_place(to, manifest, store)
        wanted = Backfill(
            place,
            Where(to, manifest, store),
            options_of(recipe, recipe_block),
            at_once,
            mode,
            attempt,
            dry_run,
            Engine(engine, engine_address),
        )
        launcher = launcher_of(deployment, at_once, wanted.engine)
        report = backfill(find(scenes.selection()), wanted, launcher)
    except SceneMosaicError as error:
        return error_state(error, error)
    _show(report)
    state = Failed if report.has_failed else Completed
    return state(name=report.state, message=report.summary, data=report)


def _show(report: BackfillReport) -> None:
    show_scenes("backfill", report.rows, f"{report.state}: {report.summary}")
    get_run_logger().info("%s: %s", report.state, report.summary)
