"""Scenes for flows, and Prefect's server as it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.scenes import make_scene
from tests.flows.serving import api, request


@pytest.fixture
def served_server(prefect_server: str) -> Iterator[str]:
    """The server, on which this test alone has automations and deployments: others share it."""
    yield prefect_server
    for kind in ("automations", "deployments"):
        for one in api(prefect_server, f"{kind}/filter", {}):
            request(prefect_server, f"{kind}/{one['id']}", method="DELETE")


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """A scene of 12 windows."""
    return make_scene(tmp_path / "scene.tif")
