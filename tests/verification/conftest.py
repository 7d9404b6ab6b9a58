"""Finished jobs on a local root, and on S3 with DynamoDB and a versioned bucket."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scenemosaic import job
from scenemosaic.planning import PlanOptions
from scenemosaic.recipes.recipe_rules import LOSSY
from tests.jobs.conftest import local_place, make_place, s3_place, write_scene
from tests.jobs.places import MakePlace
from tests.verification.damage import BLOCK, LOSSY_BLOCK, ME, WINDOW, Damage

__all__ = ["local_place", "make_place", "s3_place"]

Finish = Callable[..., Damage]


@pytest.fixture(scope="session")
def small_scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """150 x 180 pixels: nine windows of 64 with the levels 0 to 2, and the levels 3 and 4."""
    return write_scene(tmp_path_factory.mktemp("scene") / "small.tif", 150, 180, bands=2)


@pytest.fixture
def finish(monkeypatch: pytest.MonkeyPatch) -> Finish:
    """``finish(make_place, source, assemble=True, **options)`` makes a whole job."""

    def make(
        make_place: MakePlace, source: Path, *, assemble: bool = True, **options: Any
    ) -> Damage:
        place = make_place()
        for name, value in place.env.items():
            monkeypatch.setenv(name, value)
        block = LOSSY_BLOCK if options.get("compress") in LOSSY else BLOCK
        chosen = {"window": WINDOW, "block_size": block} | options
        spec = job.plan_job([str(source)], place.root, place.manifest, PlanOptions(**chosen))
        job.prepare(spec)
        job.publish_plan(spec, ME)
        job.commit_windows(spec, job.missing_windows(spec), ME)
        if assemble:
            job.assemble(spec, ME)
        return Damage(place, spec)

    return make


@pytest.fixture
def damage(finish: Finish, make_place: MakePlace, small_scene: Path) -> Damage:
    """A finished job at each kind of place."""
    return finish(make_place, small_scene)


@pytest.fixture
def local_damage(finish: Finish, local_place: MakePlace, small_scene: Path) -> Damage:
    return finish(local_place, small_scene)
