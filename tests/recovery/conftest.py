"""One Prefect server, one store behind gates, and one runner for all cases but those that kill."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.faults.proxy import Proxy
from tests.flows.conftest import prefect_server
from tests.flows.serving import environment
from tests.recovery.gate import Gates
from tests.recovery.place import Place, make_place
from tests.recovery.runs import end

__all__ = ["prefect_server"]
MakePlace = Callable[..., Place]


class Runner:
    """``scenemosaic serve`` as a process, started when it is wanted, and again once it is dead."""

    def __init__(self, folder: Path, env: Mapping[str, str], *options: str) -> None:
        self._folder = folder
        self._env = env
        self._options = options
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """The process that serves by now."""
        if not self.is_alive:
            self._process = self._start()
        assert self._process is not None
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return (self._folder / "serve.log").read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL to it alone. Waited for, since its threads may outlive the first of them."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None:
            end(self._process)
            self._process = None

    def _start(self) -> "subprocess.Popen[str]":
        with (self._folder / "serve.log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "flows.cli", "serve", "--json", *self._options],
                cwd=self._folder,
                env=environment(self._env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert process.stdout is not None
        with process.stdout:
            line = process.stdout.readline()
        assert line, self.log[-3000:]
        assert json.loads(line)["deployments"]
        return process


@pytest.fixture(scope="session")
def gates(ministack: str) -> Iterator[Gates]:
    with Proxy(ministack) as proxy:
        yield Gates(proxy)


@pytest.fixture(scope="session")
def store_env(gates: Gates) -> Mapping[str, str]:
    """How a flow's process reaches the store; a dead assembler's claim is soon another's."""
    return {"AWS_ENDPOINT_URL": gates.proxy.url, "SCENEMOSAIC_CLAIM_LEASE_S": "1"}


@pytest.fixture(scope="session")
def runner(
    prefect_server: str, store_env: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runner]:
    made = Runner(
        tmp_path_factory.mktemp("runner"),
        {"PREFECT_API_URL": prefect_server, "PREFECT_RUNNER_POLL_FREQUENCY": "2", **store_env},
    )
    yield made
    made.stop()


@pytest.fixture
def place(tmp_path: Path, gates: Gates, ministack: str) -> Place:
    return make_place(tmp_path, gates, ministack)
