"""One Prefect server, one store behind gates, and one runner for all cases but those that kill."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests import servers
from tests.faults.proxy import Proxy
from tests.flows.serving import start_prefect
from tests.recovery.gate import Gates
from tests.recovery.place import Place, make_place
from tests.recovery.runner import Runner

__all__ = ["Runner"]
MakePlace = Callable[..., Place]


# Of this package, not of the session: a server works while it waits, and so does a runner, which
# asks it every second.
@pytest.fixture(scope="package")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that these tests share with no others, whose runs the runner would take, too."""
    with servers.running(start_prefect(tmp_path_factory.mktemp("prefect"))) as server:
        yield f"{server.url}/api"


@pytest.fixture(scope="session")
def gates(ministack: str) -> Iterator[Gates]:
    with Proxy(ministack) as proxy:
        yield Gates(proxy)


@pytest.fixture(scope="session")
def store_env(gates: Gates) -> Mapping[str, str]:
    """How a flow's process reaches the store; a dead assembler's claim is soon another's."""
    return {"AWS_ENDPOINT_URL": gates.proxy.url, "SCENEMOSAIC_CLAIM_LEASE_S": "1"}


@pytest.fixture(scope="package")
def runner(
    prefect_server: str, store_env: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runner]:
    made = Runner(
        tmp_path_factory.mktemp("runner"),
        {"PREFECT_API_URL": prefect_server, "PREFECT_RUNNER_POLL_FREQUENCY": "1", **store_env},
    )
    yield made
    made.stop()


@pytest.fixture
def place(tmp_path: Path, gates: Gates, ministack: str) -> Place:
    return make_place(tmp_path, gates, ministack)
