"""One Prefect server, one Dask and one Ray cluster of two processes for the tests of engines."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cloudpickle
import pytest

from flows.engines.engine import Engine
from flows.engines.limits import Limits
from flows.engines.own_cluster import OwnCluster
from tests.flows.conftest import scene

__all__ = ["scene"]

_OF_WORKERS = ("prefect.task_engine", "prefect_dask", "tasks.commit_windows", "tasks.dask_worker")
_CROSSING = ("task", "task_run_id", "parameters", "dependencies", "context", "wait_for")


@pytest.fixture(scope="package")
def api(harness: None, prefect_server: str) -> str:
    """The server, which is this process's own API."""
    return prefect_server


@pytest.fixture(scope="package")
def forked_workers(api: str) -> Iterator[None]:
    """Worker processes of this one's clusters are forks of one that has imported what they do."""
    import dask
    from distributed.utils import get_mp_context

    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(["distributed.nanny", *_OF_WORKERS])
        yield


@pytest.fixture(scope="package")
def cluster(forked_workers: None) -> Iterator[Any]:
    """Two worker processes, and a scheduler with an address."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        preload=["tasks.dask_worker"],
    ) as made:
        yield made


@pytest.fixture(scope="package")
def ray_cluster(api: str) -> Iterator[None]:
    """Ray, which every run of this process finds. The thread that started it has ended."""
    if sys.version_info >= (3, 14):
        pytest.skip("Ray has no wheels for it")
    with OwnCluster(Limits(2, engine=Engine("ray"))) as made:
        with ThreadPoolExecutor(1) as scenes:
            scenes.submit(made.get).result()
        yield


@pytest.fixture(params=["dask", "ray"])
def engine(request: pytest.FixtureRequest) -> dict[str, str]:
    """What a flow is told of its engine, for each that has processes."""
    if request.param == "dask":
        cluster = request.getfixturevalue("cluster")
        return {"engine": "dask", "engine_address": cluster.scheduler_address}
    request.getfixturevalue("ray_cluster")
    return {"engine": "ray"}


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
