"""One Prefect server and one Dask cluster of two worker processes for the tests of engines."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.flows.conftest import prefect_server, scene

__all__ = ["prefect_server", "scene"]


@pytest.fixture(scope="module")
def api(prefect_server: str) -> Iterator[str]:
    """The server, as this process's own API for a module's tests."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: prefect_server}):
        yield prefect_server


@pytest.fixture(scope="module")
def cluster(api: str) -> Iterator[Any]:
    """Two worker processes, and a scheduler with an address."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        preload=["tasks.dask_worker"],
    ) as made:
        yield made
