"""The ledger's tests share the scenarios' stores with faults, the jobs' places, and Prefect."""

import pytest

from tests.jobs.conftest import local_place, make_place, s3_place
from tests.jobs.places import MakePlace, Place
from tests.scenarios.conftest import make_stand, stand, with_409

__all__ = [
    "local_place",
    "make_place",
    "make_stand",
    "s3_place",
    "stand",
    "with_409",
]


@pytest.fixture
def place(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place of its own, to which the environment leads."""
    made = make_place()
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    return made
