"""``scenemosaic serve`` and ``automations``: what a Prefect server is told about this project."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from flows.options.running import SERVER_PORT
from flows.server.api import PrefectUnavailable, answers, configured_api, ensure_api
from flows.terminal.console import Console, complain
from scenemosaic.errors import InputError

START_S: Final = 180.0
STOP_S: Final = 15.0
RETRIES: Final = "PREFECT_CLIENT_MAX_RETRIES"
# Else a server that is started again knows of no run's slot: it ends those that live.
LEASES: Final = {
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
        "prefect.server.concurrency.lease_storage.filesystem"
    )
}
# 2, 4, 8 … 256 s apart. A runner that failed to ask three times ends, and its runs with it:
# by Prefect's own 5 that is after three minutes, by these after 25.
MOST_RETRIES: Final = 8
_NO_API: Final = "set PREFECT_API_URL to a running server's (prefect server start)"


@dataclass(frozen=True, slots=True)
class Automated:
    """What automations are told; None makes them not at all."""

    notify: str | None
    silence_s: int


def serve(limit: int, port: int, automated: Automated | None, console: Console) -> int:
    """Serve until interrupted; the exit code."""
    os.environ.setdefault(RETRIES, str(MOST_RETRIES))
    with _api(port) as url:
        # Only now: Prefect reads at its import which API it talks to.
        from flows.server import serving
        from flows.verbs import automating

        blocks = serving.register_blocks()
        made: dict[str, str] = {}
        if automated is not None:
            made = automating.create_automations(automated.notify, automated.silence_s)
        runner, names = serving.register_deployments(limit)
        value = {"api": url, "blocks": blocks, "automations": made, "deployments": names}
        lines = [f"blocks       {', '.join(blocks)}", f"deployments  {', '.join(names)}"]
        lines += [f"automation   {name}: {what}" for name, what in made.items()]
        console.answer(value, "\n".join([*lines, f"serving      {url} (Ctrl-C ends it)"]))
        sys.stdout.flush()
        serving.serve_all(runner)
    return 0


def automations(automated: Automated, console: Console) -> int:
    """Make the automations and say so; the exit code."""
    if configured_api() is None:
        raise InputError(f"automations are a server's: {_NO_API}")
    url = ensure_api(complain)
    from flows.verbs.automating import create_automations

    made = create_automations(automated.notify, automated.silence_s)
    lines = [f"{name}: {what}" for name, what in made.items()]
    console.answer({"api": url, "automations": made}, "\n".join(lines))
    return 0


@contextmanager
def _api(port: int) -> Iterator[str]:
    """The configured API, one that answers on ``port``, or that of a server which lives as
    long as the ``with`` block."""
    url = f"http://127.0.0.1:{port}/api"
    if (configured := configured_api()) is not None:
        unused = (
            ""
            if port == SERVER_PORT
            else f"; --port {port} is for a server made here, and not used"
        )
        complain(f"using Prefect's server that is configured: {configured}{unused}")
        yield ensure_api(complain)
        return
    if answers(url):
        complain(f"using Prefect's server that answers on {url}")
        os.environ["PREFECT_API_URL"] = url
        yield ensure_api(complain)
        return
    process = _start(port)
    try:
        os.environ["PREFECT_API_URL"] = url
        _wait_until_ready(process, url)
        yield ensure_api(complain)
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _start(port: int) -> "subprocess.Popen[bytes]":
    complain(f"starting Prefect's server on http://127.0.0.1:{port} (10 to 60 s) …")
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1"]
    return subprocess.Popen(
        [*command, "--port", str(port)],
        # Else its pages would call another port than this one.
        env={**LEASES, **os.environ, "PREFECT_SERVER_API_PORT": str(port)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for this command, which ends the server itself
    )


def _wait_until_ready(process: "subprocess.Popen[bytes]", url: str) -> None:
    give_up = time.monotonic() + START_S
    while not answers(url):
        if process.poll() is not None:
            raise PrefectUnavailable(
                f"Prefect's server ended as it started: is its port taken? Else {_NO_API}"
            )
        if time.monotonic() > give_up:
            raise PrefectUnavailable(f"Prefect's server is silent for {START_S:.0f} s: {_NO_API}")
        time.sleep(0.5)
