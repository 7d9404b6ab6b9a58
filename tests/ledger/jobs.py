"""Finished jobs to publish, as small as jobs get."""

from pathlib import Path

from scenemosaic import job
from scenemosaic.job import JobSpec, PlanOptions, Run
from tests.flows.scenes import BLOCK, make_scene
from tests.jobs.places import Place

SIDE = 128


def committed(place: Place, folder: Path, seed: int = 1) -> JobSpec:
    """A job of one window that only lacks its mosaic. The environment leads to the place."""
    scene = make_scene(folder / f"scene-{seed}.tif", SIDE, SIDE, seed)
    options = PlanOptions(window=SIDE, block_size=BLOCK)
    spec = job.plan_job([str(scene)], place.root, place.manifest, options)
    run = Run("windows", "windows")
    job.prepare(spec)
    job.publish_plan(spec, run)
    job.commit_windows(spec, job.missing_windows(spec), run)
    return spec


def finished(place: Place, folder: Path, seed: int = 1) -> JobSpec:
    """A job of one window with its mosaic; another seed is another job."""
    spec = committed(place, folder, seed)
    job.assemble(spec, Run("assembly", "assembly"))
    return spec
