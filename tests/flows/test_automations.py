"""The automations on a real server: each is caused, and what it does is seen."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from flows.server.alive import LEAST_SILENCE_S
from flows.server.deployment_table import TAGS
from scenemosaic.ledger.book import Wanted, open_book
from scenemosaic.stores import open_store
from tests.flows.scenes import make_scene, spoil_block
from tests.flows.serving import COMMAND_S, api, environment, flow_runs, request, run_command

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
LEDGER, JOB_ID = "watched-by-nobody", "ab" * 16
NAMES = [
    "scenemosaic: job incomplete",
    "scenemosaic: ledger held for too long",
    "scenemosaic: run that never began",
    "scenemosaic: run without a sign of life",
]


@pytest.fixture
def heard() -> Iterator[tuple[str, list[str]]]:
    """The address of a webhook, and what it is told."""
    told: list[str] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", told
        server.shutdown()


def test_each_fires(served_server: str, heard: tuple[str, list[str]], tmp_path: Path) -> None:
    url, root, (hook, told) = served_server, tmp_path / "root", heard
    spoilt, whole = make_scene(tmp_path / "spoilt.tif"), make_scene(tmp_path / "whole.tif", seed=2)
    spoil_block(spoilt, 1, 1)
    hold_the_ledger(root)
    notify = save_hook(url, hook)
    automate(url, tmp_path, "--notify", notify)
    with watched(url, root, spoilt, whole, tmp_path) as process:
        until(lambda: len(said(told, NAMES[0])) == 1, process)
        assert "scenemosaic.job.incomplete" in said(told, NAMES[0])[0]
        until(lambda: len(said(told, NAMES[1])) == 1, process)
        assert f"scenemosaic.ledger.{LEDGER}" in said(told, NAMES[1])[0]
        assert said(told, NAMES[3]) == []

        automate(url, tmp_path, "--notify", notify, "--silence", str(LEAST_SILENCE_S))
        assert process.stdin is not None
        process.stdin.write("hang\n")
        process.stdin.flush()
        run = until(lambda: running(url, root), process)
        assert run["tags"] == ["scenemosaic"]
        taken = take(url, run["flow_id"])
        until(lambda: heartbeats(url, run["id"]), process)
        process.kill()
        # As a worker that is started again does: whose silence is waited for is not forgotten.
        automate(url, tmp_path, "--notify", notify, "--silence", str(LEAST_SILENCE_S))
        until(lambda: state_of(url, run["id"])["type"] == "CRASHED")
        assert "no heartbeat for 10 s" in state_of(url, run["id"])["message"]
        until(lambda: any(run["id"] in text for text in said(told, NAMES[3])))
        until(lambda: state_of(url, taken)["type"] == "CRASHED")
        assert "not begun" in state_of(url, taken)["message"]


def take(url: str, flow_id: str) -> str:
    """A run that a worker took, and of which nobody will hear again."""
    state = {"type": "PENDING", "name": "Submitting"}
    run = request(url, "flow_runs/", {"flow_id": flow_id, "tags": list(TAGS), "state": state})
    return str(run["id"])


def hold_the_ledger(root: Path) -> None:
    store = open_store(str(root))
    open_book(store, LEDGER).reserve(Wanted("died", JOB_ID))
    store.close()


def automate(url: str, folder: Path, *given: str) -> None:
    answer = run_command(["automations", "--json", *given], folder, {"PREFECT_API_URL": url})
    assert answer.code == 0, answer.err
    assert sorted(answer.value()["automations"]) == NAMES


def save_hook(url: str, address: str) -> str:
    """A saved notification block, as a person makes it in Prefect's pages."""
    kind = request(url, "block_types/slug/custom-webhook")
    of_kind = {"block_schemas": {"block_type_id": {"any_": [kind["id"]]}}}
    (schema,) = api(url, "block_schemas/filter", of_kind)
    data = {"name": "ops", "url": address, "json_data": {"text": "{{subject}}: {{body}}"}}
    block = {"name": "ops", "data": data, "block_type_id": kind["id"]}
    request(url, "block_documents/", {**block, "block_schema_id": schema["id"]})
    return "custom-webhook/ops"


@contextmanager
def watched(
    url: str, root: Path, spoilt: Path, whole: Path, folder: Path
) -> Iterator["subprocess.Popen[str]"]:
    with (folder / "watched.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.flows.run_watched", root, spoilt, whole, LEDGER],
            cwd=folder,
            env=environment({"PREFECT_API_URL": url}),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def said(told: list[str], name: str) -> list[str]:
    return [text for text in map(str, map(json.loads, list(told))) if name in text]


def running(url: str, root: Path) -> dict[str, Any] | None:
    found = [run for run in flow_runs(url, root) if run["state_type"] == "RUNNING"]
    return found[0] if found else None


def heartbeats(url: str, run_id: str) -> bool:
    of_run = {"id": [f"prefect.flow-run.{run_id}"]}
    wanted = {"resource": of_run, "event": {"name": ["prefect.flow-run.heartbeat"]}}
    return bool(request(url, "events/filter", {"filter": wanted})["events"])


def state_of(url: str, run_id: str) -> dict[str, Any]:
    state: dict[str, Any] = request(url, f"flow_runs/{run_id}")["state"]
    return state


def until(true: Callable[[], Any], process: "subprocess.Popen[str] | None" = None) -> Any:
    """What is so at last; a server takes its time. ``process`` has to live until then."""
    end = time.monotonic() + COMMAND_S
    while not (found := true()):
        assert process is None or process.poll() is None, "it ended: see watched.log"
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.3)
    return found
