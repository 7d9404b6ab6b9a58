"""Prefect's server away in the middle of a run, and still away as the run comes to its end."""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from flows.shown.observed import WRITTEN_EVENT
from flows.verbs.serve import LEASES
from tests.flows.serving import api, request, start_prefect
from tests.recovery.conftest import Runner
from tests.recovery.gate import Gates, until
from tests.recovery.place import WINDOWS, Place, check_done, make_place
from tests.recovery.runs import PROCESS, read, start, state_of, written
from tests.servers import Server

BEFORE = 3
SILENT_S, AWAY_S = 20.0, 120.0
SHOWN = {"gap-map", "outcomes", "preview"}


class Outage:
    """A server of its own, which hangs or dies, and comes back where it was.

    It keeps its leases on disk, as operations.md asks of one that may be started again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.server: Server = start_prefect(folder, settings=LEASES)
        self.url = f"{self.server.url}/api"
        self._begin = 0.0

    def hang(self) -> None:
        self._begin = time.monotonic()
        os.killpg(self.server.process.pid, signal.SIGSTOP)

    def go_on(self, after_s: float) -> None:
        self._wait(after_s)
        os.killpg(self.server.process.pid, signal.SIGCONT)

    def die(self) -> None:
        self._begin = time.monotonic()
        os.killpg(self.server.process.pid, signal.SIGKILL)
        self.server.process.wait()

    def come_back(self, after_s: float) -> None:
        self._wait(after_s)
        port = int(self.server.url.rpartition(":")[2])
        self.server = start_prefect(self._folder, port=port, settings=LEASES)

    def _wait(self, after_s: float) -> None:
        """The outage itself is what is tested, and so is how long it is."""
        until("the end of the outage", lambda: time.monotonic() - self._begin >= after_s)


@pytest.fixture
def outage(tmp_path: Path) -> Iterator[Outage]:
    made = Outage(tmp_path / "prefect")
    yield made
    made.server.stop()


@pytest.fixture
def own_runner(outage: Outage, store_env: Mapping[str, str], tmp_path: Path) -> Iterator[Runner]:
    env = {"PREFECT_API_URL": outage.url, "PREFECT_RUNNER_POLL_FREQUENCY": "2", **store_env}
    # They take who is silent for dead, and nobody is heard while the server is away.
    made = Runner(tmp_path, env, "--automations")
    yield made
    made.stop()


def begin(
    folder: Path, gates: Gates, ministack: str, outage: Outage, *, seed: int
) -> tuple[Place, str]:
    """A scene of which some windows are committed, and the run that does it."""
    place = make_place(folder, gates, ministack, seed)
    place.gate.let(BEFORE)
    run_id = start(outage.url, PROCESS, place.given())
    place.wait_for_rows(BEFORE)
    return place, run_id


def finish_without_server(place: Place) -> None:
    """The engine needs no server: in steps, so that some of it is done early, and all in time."""
    place.gate.let(BEFORE)
    place.wait_for_rows(2 * BEFORE)
    place.gate.open()
    until("the mosaic", place.is_published)
    assert len(place.windows()) == WINDOWS


def check_reported(place: Place, url: str, run_id: str) -> None:
    """The run says how it ended. For a moment it may be Crashed: nobody heard of it for long."""

    def completed() -> dict[str, Any] | None:
        run = read(url, run_id)
        return run if run["state_type"] == "COMPLETED" else None

    run = until(lambda: f"what {run_id} says: {read(url, run_id)}", completed)
    assert (state_of(run), run["run_count"]) == (("Mosaicked", "COMPLETED"), 1)
    check_done(place, {run_id: written(run)})
    job_id = next(key.split("/")[1] for key in place.objects())
    found = {one["key"] for one in api(url, "artifacts/filter", {})}
    assert {f"{kind}-{job_id}" for kind in SHOWN} <= found
    until("its event", lambda: f"scenemosaic.job.{job_id}" in said(url))


def said(url: str) -> set[str]:
    """Whose mosaics were written, as the events say."""
    found = request(url, "events/filter", {"filter": {"event": {"name": [WRITTEN_EVENT]}}})
    return {one["resource"]["prefect.resource.id"] for one in found["events"]}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_it_hangs_for_20_s_and_is_gone_for_two_minutes(
    tmp_path: Path, gates: Gates, ministack: str, outage: Outage, own_runner: Runner
) -> None:
    assert own_runner.pid
    place, run_id = begin(tmp_path, gates, ministack, outage, seed=1)
    outage.hang()
    finish_without_server(place)
    outage.go_on(SILENT_S)
    check_reported(place, outage.url, run_id)

    # Begun only now: a slot's lease is renewed every 225 s and lives for 300. Prefect ends a run
    # whose lease ran out while the server was away, whatever we do: operations.md says so.
    place, run_id = begin(tmp_path, gates, ministack, outage, seed=2)
    outage.die()
    finish_without_server(place)
    outage.come_back(AWAY_S)
    check_reported(place, outage.url, run_id)
    assert own_runner.is_alive
