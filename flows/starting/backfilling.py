"""Many scenes, each planned, looked up, started and followed; so many of them at once."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Final

from flows.engines.engine import THREADS, Engine
from flows.engines.reaching import NobodyAnswers
from flows.forms.parameters import Mode
from flows.redact import public_source
from flows.reports.backfill import PRESENT, WOULD_RUN, BackfillReport, SceneRow
from flows.reports.states import state_name
from flows.scenes.stopwatch import Stopwatch
from flows.server.api import PrefectUnavailable
from flows.starting.jobs import SceneJob, plan_found
from flows.starting.launch import Ended, Launch, Started, Unrecordable, Where
from flows.starting.launching import Launcher
from scenemosaic import job
from scenemosaic.discovery.found import Found
from scenemosaic.errors import SceneMosaicError
from scenemosaic.places import Place
from scenemosaic.plans.plan import PlanOptions

_log = logging.getLogger(__name__)
_AGAIN: Final = "raise attempt to have it run again"


@dataclass(frozen=True, slots=True)
class Backfill:
    """What is to be done with every scene."""

    place: Place
    where: Where
    options: PlanOptions
    at_once: int
    mode: Mode = "missing"
    attempt: int = 1
    dry_run: bool = False
    engine: Engine = THREADS


def backfill(
    found: Sequence[Found],
    wanted: Backfill,
    launcher: Launcher,
    told: Callable[[SceneRow], None] = lambda row: None,
) -> BackfillReport:
    """Carry out every scene's job; ``told`` hears of each as it ends, from many threads.

    What is wrong with one scene is its row, and stops no other. Raises PrefectUnavailable
    where Prefect does not answer, since then nothing is known of the others either, and
    NobodyAnswers where their cluster does not.
    """
    watch = Stopwatch()

    def one(scene: Found) -> SceneRow:
        row = _carry_out(scene, wanted, launcher)
        _log.info("%s: %s, %s", row.scene, row.state, row.detail)
        told(row)
        return row

    with launcher:
        rows = _all(found, one, wanted.at_once, launcher)
    report = BackfillReport(rows, wanted.dry_run, watch.seconds)
    if report.note is not None:
        _log.warning("%s", report.note)
    return report


def _all(
    found: Sequence[Found], one: Callable[[Found], SceneRow], at_once: int, launcher: Launcher
) -> tuple[SceneRow, ...]:
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="backfill")
    try:
        # Each with a context of its own, by which a log line finds its flow run.
        futures = [pool.submit(copy_context().run, one, scene) for scene in found]
        return tuple(future.result() for future in futures)
    except BaseException:
        launcher.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _carry_out(found: Found, wanted: Backfill, launcher: Launcher) -> SceneRow:
    if found.refused is not None:
        return _refused(found.source, found.refused_as(found.refused))
    name = public_source(found.source) or found.source
    job_id: str | None = None
    try:
        scene = plan_found(found, wanted.place, wanted.options)
        job_id = scene.spec.plan.job_id
        return _process(name, scene, wanted, launcher)
    except (PrefectUnavailable, NobodyAnswers):
        raise
    except Unrecordable as error:
        return _refused(name, error)
    except SceneMosaicError as error:
        return SceneRow(name, job_id, state_name(error), str(error), error.exit_code)


def _refused(name: str, error: SceneMosaicError) -> SceneRow:
    """Of no job: whoever starts it, it does not become one."""
    return SceneRow(name, None, state_name(error), str(error), error.exit_code)


def _process(name: str, scene: SceneJob, wanted: Backfill, launcher: Launcher) -> SceneRow:
    if wanted.mode == "missing" and job.finished(scene.spec) is not None:
        return _row(name, scene, PRESENT, "all of it was there")
    if wanted.dry_run:
        return _row(name, scene, WOULD_RUN, "nothing was written")
    launch = Launch(scene, wanted.where, wanted.mode, wanted.attempt, wanted.engine)
    started = launcher.start(launch)
    ended = launcher.wait(launch, started)
    return _of_run(name, scene, wanted, started, ended)


def _of_run(
    name: str, scene: SceneJob, wanted: Backfill, started: Started, ended: Ended
) -> SceneRow:
    if not ended.is_earlier:
        return _row(name, scene, ended.name, ended.message, ended.exit_code, ended.run_id)
    asked = f"attempt {wanted.attempt} had ended before as {ended.name}"
    if ended.exit_code:
        text = f"{asked}: {ended.message}; {_AGAIN}"
        return _row(name, scene, ended.name, text, ended.exit_code, ended.run_id)
    if job.finished(scene.spec) is not None:
        return _row(name, scene, PRESENT, f"{asked}; {_AGAIN}", 0, ended.run_id)
    text = f"{asked}, and something of it is gone since; {_AGAIN}"
    return _row(name, scene, "Incomplete", text, 3, ended.run_id)


def _row(
    name: str,
    scene: SceneJob,
    state: str,
    detail: str,
    exit_code: int = 0,
    run_id: str | None = None,
) -> SceneRow:
    plan = scene.spec.plan
    windows, undated = len(plan.recipe.tiling()), plan.datetime is None
    return SceneRow(name, plan.job_id, state, detail, exit_code, windows, run_id, undated)
