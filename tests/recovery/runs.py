"""Runs as Prefect's UI starts, retries and cancels them, and the processes that carry them out."""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.flows.serving import REPOSITORY, request
from tests.recovery.gate import until

PROCESS = "process-scene/default"
FINAL = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
_WRITTEN = re.compile(r"(\d+) windows: (\d+) written, (\d+) already there")


def deploy(url: str, pool: str, deployment: str, entrypoint: str) -> None:
    """As ``prefect deploy`` does it, which has a test of its own: for workers of a new pool."""
    flow, _, name = deployment.partition("/")
    request(url, "work_pools/", {"name": pool, "type": "process"})
    given = {
        "name": name,
        "flow_id": request(url, "flows/", {"name": flow})["id"],
        "entrypoint": entrypoint,
        "path": str(REPOSITORY),
        "work_pool_name": pool,
    }
    request(url, "deployments/", given)


def start(url: str, deployment: str, parameters: Mapping[str, Any]) -> str:
    """What "Custom run" does; the run's ID."""
    flow, _, name = deployment.partition("/")
    found = request(url, f"deployments/name/{flow}/{name}")
    scheduled = {"parameters": parameters, "state": {"type": "SCHEDULED"}}
    return str(request(url, f"deployments/{found['id']}/create_flow_run", scheduled)["id"])


def retry(url: str, run_id: str) -> None:
    """What "Retry" does, until the run has begun once more."""
    before = read(url, run_id)["run_count"]
    state = {"type": "SCHEDULED", "name": "AwaitingRetry", "message": "Retry from the UI"}
    request(url, f"flow_runs/{run_id}/set_state", {"state": state, "force": True})
    until("the retry", lambda: read(url, run_id)["run_count"] > before)


def cancel(url: str, run_id: str) -> None:
    """What "Cancel" does."""
    state = {"type": "CANCELLING", "name": "Cancelling"}
    request(url, f"flow_runs/{run_id}/set_state", {"state": state, "force": True})


def read(url: str, run_id: str) -> dict[str, Any]:
    found = request(url, f"flow_runs/{run_id}")
    assert isinstance(found, dict)
    return found


def ended(url: str, run_id: str) -> dict[str, Any]:
    """The run once it has come to its end."""
    return until(
        lambda: f"the end of {run_id}: {read(url, run_id)['state']}",
        lambda: run if (run := read(url, run_id))["state_type"] in FINAL else None,
    )


def state_of(run: Mapping[str, Any]) -> tuple[str, str]:
    return run["state_name"], run["state_type"]


def written(run: Mapping[str, Any]) -> int:
    """How many windows the run says it wrote."""
    said = _WRITTEN.match(run["state"]["message"])
    assert said is not None, run["state"]
    return int(said[2])


def children(pid: int) -> list[int]:
    """The processes below one, as the system knows them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1]) == pid:
                found += [int(folder.name), *children(int(folder.name))]
    return found


def flow_process(parent: int, run_id: str) -> int:
    """The process below ``parent`` that carries out a run."""

    def find() -> int | None:
        for pid in children(parent):
            with contextlib.suppress(OSError):
                if run_id.encode() in Path(f"/proc/{pid}/environ").read_bytes():
                    return pid
        return None

    return until(f"a process of run {run_id}", find)


def is_alive(pid: int) -> bool:
    """Whether a process is at work: one that was killed, and not yet waited for, is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    until(f"the end of process {pid}", lambda: not is_alive(pid))


def end(process: "subprocess.Popen[Any]") -> None:
    """End a process of ours with what is below it."""
    below = children(process.pid)
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pid in below:
        kill(pid)
