"""One Prefect server and one Dask cluster of two worker processes for the tests of engines."""

from collections.abc import Iterator
from typing import Any

import cloudpickle
import pytest

from tests.flows.conftest import scene

__all__ = ["scene"]

_CROSSING = ("task", "task_run_id", "parameters", "dependencies", "context", "wait_for")


@pytest.fixture(scope="package")
def api(harness: None, prefect_server: str) -> str:
    """The server, which is this process's own API."""
    return prefect_server


@pytest.fixture(scope="package")
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


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What crosses to Dask's workers, pickled, batch by batch."""
    from distributed import Client

    found: list[bytes] = []
    real = Client.submit

    def submit(self: Client, call: Any, *given: Any, **named: Any) -> Any:
        parts = {name: value for name, value in named.items() if name in _CROSSING}
        found.append(cloudpickle.dumps((call, parts)))
        return real(self, call, *given, **named)

    monkeypatch.setattr(Client, "submit", submit)
    return found
