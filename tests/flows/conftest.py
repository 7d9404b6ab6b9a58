"""Prefect for tests: one harness or one real server for each test process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.flows.scenes import make_scene
from tests.flows.serving import start_prefect


@pytest.fixture(scope="session")
def harness() -> Iterator[None]:
    """A temporary API for flows that run inside the test process."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        yield


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API's URL of a real ``prefect server start``."""
    folder = tmp_path_factory.mktemp("prefect")
    with servers.running(start_prefect(folder)) as server:
        yield f"{server.url}/api"


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """A scene of 12 windows."""
    return make_scene(tmp_path / "scene.tif")
