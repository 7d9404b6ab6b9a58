"""Small mosaics that have top boxes all the same."""

import pytest

from scenemosaic.mosaic import top_boxes as which
from tests.jobs.conftest import local_place, make_place, s3_place

__all__ = ["local_place", "make_place", "s3_place"]


@pytest.fixture(autouse=True)
def few_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes of two windows on a side, from two windows on."""
    monkeypatch.setattr(which, "FROM_WINDOWS", 2)
    monkeypatch.setattr(which, "MOST_LEVELS", 1)
