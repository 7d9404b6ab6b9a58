"""What the operator's page presumes: jobs, refusals and a publisher that died."""

from collections.abc import Mapping
from pathlib import Path

from scenemosaic import job
from scenemosaic.job import JobSpec, PlanOptions, Run
from scenemosaic.ledger.book import Wanted, open_book
from scenemosaic.stores import open_store
from tests.flows.scenes import make_scene

SIDE, COLUMNS, ROWS = 16, 13, 8  # so that there is a window 0007_0012
BAD = ROWS * COLUMNS - 1
DEAD = "a-run-that-died"


def prepare(folder: Path) -> Mapping[str, str]:
    """The variables of the page, and ``UNFINISHED``: a job that lacks the window 0007_0012."""
    scene = make_scene(folder / "scene.tif", COLUMNS * SIDE, ROWS * SIDE)
    root = folder / "root"
    done = _job(scene, root, PlanOptions(window=SIDE, block_size=SIDE), range(BAD + 1))
    # Nobody asks the manifest here: every write is refused.
    job.commit_windows(done, range(4), Run("late", "late"))
    job.assemble(done, Run("first", "first"))
    options = PlanOptions(window=SIDE, block_size=SIDE, resampling="nearest")
    unfinished = _job(scene, root, options, range(BAD))
    store = open_store(done.root, done.place.store.access)
    open_book(store, "publish").reserve(Wanted(DEAD, done.plan.job_id))
    store.close()
    names = {"ROOT": str(root), "SCENE": str(scene), "RUN": DEAD, "JOB": done.plan.job_id}
    return names | {"UNFINISHED": unfinished.plan.job_id}


def _job(scene: Path, root: Path, options: PlanOptions, numbers: range) -> JobSpec:
    spec, run = job.plan_job([str(scene)], str(root), None, options), Run("first", "first")
    job.prepare(spec)
    job.publish_plan(spec, run)
    job.commit_windows(spec, numbers, run)
    return spec
