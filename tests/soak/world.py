"""All servers and workers of a soak, each of which can die and comes back on what it knew."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from flows.verbs.serve import LEASES
from tests import servers
from tests.flows.serving import REPOSITORY, environment, start_prefect
from tests.recovery.runner import Runner
from tests.recovery.runs import children
from tests.servers import Server
from tests.soak import processes
from tests.soak.returning import Returning

SILENCE_S = 60
_RUNS_AT_ONCE = "8"
_WORKER = {
    "PREFECT_RUNNER_POLL_FREQUENCY": "2",
    "SCENEMOSAIC_CLAIM_LEASE_S": "3",
    "OPENBLAS_NUM_THREADS": "1",
}


@dataclass
class World:
    """``gave_up`` counts workers that ended though nobody killed them."""

    folder: Path
    mark: str
    store: Server
    front_port: int
    server: Server
    runner: Runner
    returning: Returning = field(default_factory=Returning)
    front: "subprocess.Popen[bytes] | None" = None
    gave_up: int = 0
    server_deaths: list[datetime] = field(default_factory=list)

    @property
    def api(self) -> str:
        return f"{self.server.url}/api"

    @property
    def answers(self) -> bool:
        """Whether Prefect's server is there."""
        return "server" not in self.returning

    @property
    def has_worker(self) -> bool:
        return self.runner.is_alive and "worker" not in self.returning

    def flows(self) -> list[processes.Marked]:
        return processes.flow_processes(self.mark)

    def kill_flow(self, chance: float) -> bool:
        """One of the flow processes; False where there is none."""
        living = self.flows()
        return bool(living) and processes.end(living[int(chance * len(living))].pid)

    def kill_worker(self, away_s: float) -> bool:
        """The runner alone: its flows go on. False where it was dead."""
        if not self.has_worker:
            return False
        self.runner.kill()
        self.returning.away("worker", away_s, self._start_worker)
        return True

    def kill_machine(self, away_s: float) -> bool:
        """The runner with every flow process, as a machine that lost its power."""
        # Nothing of it may see another part die.
        living = [one.pid for one in self.flows()]
        if self.has_worker:
            living.insert(0, self.runner.pid)
        for pid in living:
            processes.send(pid, signal.SIGSTOP)
        self.kill_worker(away_s)
        for pid in living:
            processes.end(pid)
        return bool(living)

    def kill_server(self, away_s: float) -> bool:
        """Prefect's server, which comes back on its port and its database."""
        if not self.answers:
            return False
        os.killpg(self.server.process.pid, signal.SIGKILL)
        self.server.process.wait()
        self.server_deaths.append(datetime.now(UTC))
        self.returning.away("server", away_s, self._start_server)
        return True

    def kill_store(self, away_s: float) -> bool:
        """The store: every connection is cut, and new ones are refused for a while."""
        if self.front is None or "store" in self.returning:
            return False
        self.front.kill()
        self.front.wait()
        self.front = None
        self.returning.away("store", away_s, self.start_front)
        return True

    def tend(self) -> None:
        """Let come back what is due."""
        if not self.runner.is_alive and "worker" not in self.returning:
            self.gave_up += 1
            self.returning.away("worker", 0.0, self._start_worker)
        self.returning.tend()

    def _start_server(self) -> None:
        port = int(self.server.url.rpartition(":")[2])
        self.server = start_prefect(self.folder / "prefect", port=port, settings=LEASES)

    def _start_worker(self) -> None:
        self.returning.wait_for("server")
        _ = self.runner.pid

    def start_front(self) -> None:
        upstream = urlsplit(self.store.url).port
        with (self.folder / "front.log").open("ab") as log:
            self.front = subprocess.Popen(
                [sys.executable, "-m", "tests.soak.front", str(self.front_port), str(upstream)],
                cwd=REPOSITORY,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self) -> None:
        """End all of ours, and only what is ours."""
        self.returning.stop()
        with contextlib.suppress(ProcessLookupError):
            self.runner.stop()
        for one in self.flows():
            processes.end(one.pid)
        if self.front is not None:
            self.front.kill()
            self.front.wait()
        self.server.stop()
        self.store.stop()

    def used_bytes(self) -> int:
        """The resident memory of all of ours."""
        of_servers = [
            pid
            for server in (self.server, self.store)
            for pid in (server.process.pid, *children(server.process.pid))
        ]
        sizes = [one.size_bytes for one in processes.marked(self.mark)]
        return sum(sizes) + sum(processes.resident_bytes(pid) for pid in of_servers)


@contextlib.contextmanager
def world(folder: Path, mark: str) -> Iterator[World]:
    """Everything started and ready; ended with the block."""
    store = servers.start_ministack(folder / "store")
    with servers.running(store):
        server = start_prefect(folder / "prefect", settings=LEASES)
        with servers.running(server):
            front_port = servers.free_port()
            env = {
                "PREFECT_API_URL": f"{server.url}/api",
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{front_port}",
                **_WORKER,
            }
            work = folder / "work"
            work.mkdir()
            options = ("--automations", "--silence", str(SILENCE_S), "--limit", _RUNS_AT_ONCE)
            made = World(folder, mark, store, front_port, server, Runner(work, env, *options))
            try:
                made.start_front()
                _ = made.runner.pid
                yield made
            finally:
                made.stop()
