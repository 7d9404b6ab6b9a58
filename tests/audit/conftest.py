"""The model's job on a store of the test's choice, with rows in memory."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from scenemosaic import session, windows
from scenemosaic.committing.commit import RetryPolicy
from scenemosaic.manifests import open_manifest
from scenemosaic.session import JobSpec, Session
from scenemosaic.stores.port import Store
from tests.faults.effects import FakeTime
from tests.faults.model import job as model_job

SPEC = JobSpec(model_job.plan(), ("none",), "test:", "test:")
Opened = Callable[[Store], Session]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Let the engine work on this store from here on; each time with an empty manifest."""

    def tile(spec: JobSpec, window: Any, *_: object) -> Any:
        return model_job.tiles(6)[window.name]

    monkeypatch.setattr(windows, "make_tile", tile)

    def on(store: Store) -> Session:
        manifest = open_manifest("sqlite://")
        manifest.ensure()
        made = Session(store, manifest, RetryPolicy(attempts=4), FakeTime().effects())
        monkeypatch.setattr(session, "open_place", mock.Mock(return_value=made))
        return made

    return on
