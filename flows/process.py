"""The flow ``process-scene``: plan, mapped window batches, gap check, assembly.

No postponed annotations in here: Prefect reads them as they stand.
"""

from dataclasses import replace

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger

from flows.engines.engine import Engine
from flows.engines.limits import limits_of
from flows.forms.checked import checked
from flows.forms.item_fields import Item
from flows.forms.parameters import (
    Asset,
    EngineAddress,
    EngineChoice,
    Manifest,
    ReusedJob,
    Sources,
    Store,
    Taken,
    Title,
    To,
    WindowsPerTask,
    Workers,
)
from flows.forms.places import planned, recorded_place
from flows.forms.recipe_parameters import Recipe, RecipeBlock, options_of
from flows.forms.run_names import process_run
from flows.reports.scene import ProcessReport
from flows.reports.states import error_state, final_state
from flows.runs import flow_run
from flows.scenes.run import run_scene
from flows.scenes.session import ACTIVE, Session, Silent
from flows.scenes.stopwatch import Stopwatch
from flows.shown.observed import show
from flows.shown.watched import watched
from scenemosaic.errors import SceneMosaicError


@flow(
    name="process-scene",
    flow_run_name=process_run,
    persist_result=False,
    validate_parameters=False,  # by checked
)
@checked
def process_scene(
    sources: Sources,
    to: To = None,
    manifest: Manifest = None,
    store: Store = None,
    recipe: Recipe = None,
    recipe_block: RecipeBlock = None,
    taken: Taken = None,
    asset: Asset = None,
    item: Item = None,
    title: Title = None,
    reuse: ReusedJob = None,
    workers: Workers = None,
    windows_per_task: WindowsPerTask = None,
    strict_history: bool = False,
    engine: EngineChoice = "threads",
    engine_address: EngineAddress = None,
) -> "State[ProcessReport]":
    """Turn one scene into a mosaic COG, each output written at most once.

    Args:
        sources: Paths or URIs of the scene's rasters, or of STAC items, as the machine that
            runs it sees them.
        to: The root: a folder, s3://bucket/prefix, gs://… or az://…. Or give store.
        manifest: The manifest's URL, without a password; left out, the root's or the store's own.
        store: The name of a Scene Store block, instead of to.
        recipe: How the mosaic is made; left out, deflate, windows that suit the scene.
        recipe_block: The name of a Mosaic Recipe block, instead of recipe.
        taken: When the scene was taken, where it does not say so itself: a day (its noon, UTC), or
            a time such as 2024-05-01T10:20:30Z.
        asset: Of a STAC item, the asset that is the scene; left out, its one raster.
        item: What a STAC item says of the one source, where a search has led there.
        title: What people call the mosaic; its STAC item says it.
        reuse: An earlier job under the same root, by its whole ID: its grid and options hold, and
            its tiles are taken over where their sources are the same.
        workers: How many work at once; left out, one a core and at most 8, or two processes.
        windows_per_task: Windows a task run handles; left out, about two seconds of work.
        strict_history: Refuse to write where something once stood and was deleted.
        engine: What windows are computed by: this machine's threads, or a cluster's processes.
        engine_address: The scheduler of a cluster that runs already; left out, one is started.
    """
    watch = Stopwatch()
    try:
        limits = limits_of(
            workers, windows_per_task, strict_history, Engine(engine, engine_address)
        )
        session = ACTIVE.get()
        if session is None:
            with watch.stage("plan", Silent()):
                options = replace(
                    options_of(recipe, recipe_block, taken),
                    asset=asset,
                    item=None if item is None else item.facts(),
                    title=title,
                    reuse=reuse,
                )
                spec = planned(sources, recorded_place(to, manifest, store), options)
                session = Session(spec, Silent())
    except SceneMosaicError as error:
        return error_state(error, error)
    with watched(session) as seen:
        report = run_scene(seen, flow_run(strict_history=strict_history), limits, watch)
    session.reports.append(report)
    show(session.spec, report)
    get_run_logger().info("job %s: %s %s", report.job_id, report.summary, report.totals)
    return final_state(report)
