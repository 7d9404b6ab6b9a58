"""A finished job of nine windows, on a local root and on S3 (versioned) with DynamoDB."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.jobs.conftest import local_place, make_place, s3_place, write_scene
from tests.jobs.places import MakePlace
from tests.repair.made import Made, make

__all__ = ["local_place", "make_place", "s3_place"]

MakeJob = Callable[..., Made]


@pytest.fixture(scope="session")
def small_scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """192 x 192 pixels: nine windows of 64."""
    return write_scene(tmp_path_factory.mktemp("small") / "scene.tif", 192, 192)


@pytest.fixture
def make_job(make_place: MakePlace, small_scene: Path, monkeypatch: pytest.MonkeyPatch) -> MakeJob:
    """A job without the windows that are named; finished where none is."""

    def made(*without: str) -> Made:
        place = make_place()
        for name, value in place.env.items():
            monkeypatch.setenv(name, value)
        return make(place, small_scene, *without)

    return made


@pytest.fixture
def done(make_job: MakeJob) -> Made:
    return make_job()
