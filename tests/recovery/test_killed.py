"""SIGKILL of the flow's process, of the runner and of the worker.

What is committed stays, and the rest is done, once.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.flows.serving import environment
from tests.recovery.conftest import Runner
from tests.recovery.gate import until
from tests.recovery.place import WINDOWS, Place, check_done
from tests.recovery.runs import (
    PROCESS,
    cancel,
    deploy,
    end,
    ended,
    flow_process,
    is_alive,
    kill,
    read,
    start,
    state_of,
    written,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
BEFORE = 4
POOL = "workers"


def begin(place: Place, url: str, parent: int) -> tuple[str, int]:
    """A run in the middle: its ID and its process. Some windows are committed, others wait."""
    place.gate.let(BEFORE)
    run_id = start(url, PROCESS, place.given())
    place.wait_for_rows(BEFORE)
    return run_id, flow_process(parent, run_id)


def check_the_rest_is_done(place: Place, url: str, run_id: str, before: Mapping[str, str]) -> None:
    """The run, a new one or the same retried, came to its end without what was committed."""
    run = ended(url, run_id)
    assert state_of(run) == ("Mosaicked", "COMPLETED")
    assert written(run) <= WINDOWS - len(before)
    check_done(place)
    assert {name: by for name, by in place.windows().items() if name in before} == before


def test_the_flow_process(place: Place, prefect_server: str, runner: Runner) -> None:
    run_id, process = begin(place, prefect_server, runner.pid)
    kill(process)
    assert state_of(ended(prefect_server, run_id)) == ("Crashed", "CRASHED")
    before, puts = place.windows(), place.tile_puts()
    place.gate.open()
    again_id = start(prefect_server, PROCESS, place.given())
    check_the_rest_is_done(place, prefect_server, again_id, before)
    check_done(place, {again_id: written(read(prefect_server, again_id))})
    assert {name: place.tile_puts()[name] for name in before} == {
        name: puts[name] for name in before
    }


def test_the_runner(place: Place, prefect_server: str, runner: Runner) -> None:
    """Its runs go on without it, and report their ends themselves."""
    run_id, process = begin(place, prefect_server, runner.pid)
    runner.kill()
    check_it_goes_on(place, prefect_server, run_id, process)


def check_it_goes_on(place: Place, url: str, run_id: str, process: int) -> None:
    place.gate.open()
    run = ended(url, run_id)
    assert (state_of(run), run["run_count"]) == (("Mosaicked", "COMPLETED"), 1)
    check_done(place, {run_id: WINDOWS})
    assert set(place.tile_puts().values()) == {1}
    until("the end of the flow's process", lambda: not is_alive(process))


def test_the_whole_machine(place: Place, prefect_server: str, runner: Runner) -> None:
    """Nobody is left to say so, and the scene may be run again at once."""
    run_id, process = begin(place, prefect_server, runner.pid)
    runner.kill()
    kill(process)
    before = place.windows()
    place.gate.open()
    assert runner.pid
    again_id = start(prefect_server, PROCESS, place.given())
    check_the_rest_is_done(place, prefect_server, again_id, before)
    check_done(place, {again_id: written(read(prefect_server, again_id))})
    cancel(prefect_server, run_id)


@contextmanager
def worker(url: str, folder: Path, env: Mapping[str, str]) -> "Iterator[subprocess.Popen[bytes]]":
    """``prefect worker start`` as a process."""
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", POOL]
    with (folder / "worker.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment({"PREFECT_API_URL": url, "PREFECT_WORKER_QUERY_SECONDS": "1", **env}),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end(process)


def test_the_worker(
    place: Place,
    prefect_server: str,
    runner: Runner,
    store_env: Mapping[str, str],
    tmp_path: Path,
) -> None:
    runner.stop()  # the deployments are a worker's now
    deploy(prefect_server, POOL, PROCESS, "flows/process.py:process_scene")
    with worker(prefect_server, tmp_path, store_env) as first:
        run_id, process = begin(place, prefect_server, first.pid)
        first.kill()
        first.wait()
        check_it_goes_on(place, prefect_server, run_id, process)
