"""The model needs no account, and its stories are full of warnings."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # With keys in the environment rasterio makes a session of boto3's for each file in memory.
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)
