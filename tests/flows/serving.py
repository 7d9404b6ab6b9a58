"""A real Prefect server, the command line as a process, and what the server's records say."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import databases, forked, servers
from tests.forked import Fork
from tests.servers import Server

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND_S = 280.0
END_S = 120
RECORDS_S = 120.0
BUSY = 503
PAGE = 200
_FLUSH = ("TASK_RUN_RECORDER", "EVENT_PERSISTER")


@dataclass(frozen=True)
class Answer:
    """What a finished command left behind."""

    code: int
    out: str
    err: str

    def value(self) -> dict[str, Any]:
        """The one JSON object on stdout; nothing else may stand there."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


def start_prefect(
    folder: Path,
    *,
    pages: bool = False,
    port: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> Server:
    """``prefect server start`` with a home of its own and quick records, and with its pages.

    ``port`` is that of a server which ended, and now starts again on what it knew.
    """
    port = port or servers.free_port()
    env = {
        "PREFECT_HOME": str(folder / "home"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    env |= {f"PREFECT_SERVER_SERVICES_{name}_FLUSH_INTERVAL": "1" for name in _FLUSH}
    command = [servers.script("prefect"), "server", "start", "--port", str(port)]
    if pages:
        # Else they would call the default port.
        env |= {"PREFECT_SERVER_API_PORT": str(port)}
        env |= {"PREFECT_UI_API_URL": f"http://127.0.0.1:{port}/api"}
    else:
        command.append("--no-ui")
    with databases.given(folder / "home") as more:
        env |= {**more, **(settings or {})}
        return servers.start(
            "prefect", command, port, folder, env=env, ready_path="/api/health", start_s=180
        )


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The test's environment, in which a command finds the product as it lies here."""
    return {**os.environ, "PYTHONPATH": servers.PYTHONPATH, **(extra or {})}


def start_command(
    arguments: Sequence[str], folder: Path, extra: Mapping[str, str] | None = None
) -> "subprocess.Popen[str]":
    """``scenemosaic ARGUMENTS`` as a process that stands in ``folder``."""
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", *arguments],
        cwd=folder,
        env=environment(extra),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def serving_env(url: str) -> dict[str, str]:
    """Of a ``serve`` that looks for runs every second rather than every ten."""
    return {"PREFECT_API_URL": url, "PREFECT_RUNNER_POLL_FREQUENCY": "1"}


@contextmanager
def served(url: str, folder: Path) -> Iterator[dict[str, Any]]:
    """What a ``scenemosaic serve`` says as it begins; it is interrupted, and ends in order."""
    given = ["serve", "--json", "--automations"]
    process = start_command(given, folder, serving_env(url))
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            _, err = process.communicate()
            raise
    assert process.returncode == 0, err
    assert not [said for said in ("Traceback", "Crash detected") if said in err], err


def finish(process: "subprocess.Popen[str] | Fork") -> Answer:
    """Wait for a command; one that hangs is killed and fails the test."""
    try:
        out, err = process.communicate(timeout=COMMAND_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert process.returncode is not None
    return Answer(process.returncode, out, err)


def fork_command(
    arguments: Sequence[str], folder: Path, extra: Mapping[str, str] | None = None
) -> Fork:
    """The same as a fork of a process that has imported what commands do, but for Prefect."""
    return forked.forks().start(forked.COMMANDS, arguments, folder, environment(extra))


def run_command(
    arguments: Sequence[str], folder: Path, extra: Mapping[str, str] | None = None
) -> Answer:
    """What such a fork has left once it has ended."""
    return finish(fork_command(arguments, folder, extra))


def request(
    url: str, path: str, body: Mapping[str, object] | None = None, method: str | None = None
) -> Any:
    """The API's answer; a body is posted. SQLite may be busy: then it is asked again."""
    asked = urllib.request.Request(
        f"{url}/{path}",
        None if body is None else json.dumps(body).encode(),
        {"Content-Type": "application/json"},
        method=method,
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + RECORDS_S
    while True:
        try:
            with opener.open(asked, timeout=60) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            if error.code != BUSY or time.monotonic() > end:
                raise
        time.sleep(0.5)


def api(url: str, path: str, body: Mapping[str, object]) -> list[dict[str, Any]]:
    """The answer of one of the API's filters, all pages of it."""
    found: list[dict[str, Any]] = []
    while True:
        page = request(url, path, {"limit": PAGE, "offset": len(found), **body})
        assert isinstance(page, list)
        found += page
        if len(page) < PAGE:
            return found


def flow_runs(url: str, root: Path) -> list[dict[str, Any]]:
    """The runs whose mosaics go to ``root``, oldest first: tests share one server."""
    found = api(url, "flow_runs/filter", {"sort": "START_TIME_ASC"})
    return [run for run in found if run["parameters"].get("to") in (str(root), root.as_uri())]


def objects(root: Path) -> dict[Path, int]:
    """Every file below a root with its time, but the manifest's: SQLite tidies up after readers."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {p: p.stat().st_mtime_ns for p in files if not p.name.startswith("manifest.db")}


def finished_task_runs(url: str, flows: list[dict[str, Any]], wanted: int) -> list[dict[str, Any]]:
    """All task runs of ``flows``, once ``wanted`` or more are recorded: records come late."""
    of_flows = {"flow_runs": {"id": {"any_": [flow["id"] for flow in flows]}}}
    end = time.monotonic() + RECORDS_S
    while True:
        found = api(url, "task_runs/filter", of_flows)
        done = [run for run in found if run["end_time"] is not None]
        if len(done) >= wanted and len(done) == len(found):
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{len(done)} of {wanted} task runs are recorded: {found}")
        time.sleep(0.2)
