"""Servers of the bench's own: free port, own home, ended by their process groups."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

START_S = 180.0
STOP_S = 15.0
SETTINGS = Path(__file__).parents[1] / "deployments" / "server.env"
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class PrefectServer:
    """A running server: its API's URL and the process group that it runs in."""

    api_url: str
    group: int


def clean_env(home: Path) -> dict[str, str]:
    """The environment of a measured command: without settings of Prefect, in a home of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return kept | {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": str(int(START_S)),
        "DO_NOT_TRACK": "1",
        # Idle threads of numpy's own would spin on everybody's account.
        "OPENBLAS_NUM_THREADS": "1",
        "NO_PROXY": "127.0.0.1,localhost",
    }


def settings(text: str) -> dict[str, str]:
    """The variables that an environment file sets; comments and empty lines are left out."""
    lines = (line.strip() for line in text.splitlines())
    kept = (line for line in lines if line and not line.startswith("#"))
    return dict(line.partition("=")[::2] for line in kept)


@contextlib.contextmanager
def prefect_server(home: Path) -> Iterator[PrefectServer]:
    """Start a server as deployments/server.env has it, wait until it answers, end it afterwards."""
    home.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    command = [sys.executable, "-m", "prefect", "server", "start", "--no-ui"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    env = clean_env(home) | settings(SETTINGS.read_text("utf-8"))
    api_url = f"http://127.0.0.1:{port}/api"
    with _running(command, env, home / "server.log", f"{api_url}/health") as group:
        yield PrefectServer(api_url, group)


@contextlib.contextmanager
def ministack(home: Path) -> Iterator[tuple[str, int]]:
    """S3 and DynamoDB, all in memory: the endpoint and the process group."""
    home.mkdir(parents=True, exist_ok=True)
    url = f"http://127.0.0.1:{_free_port()}"
    env = clean_env(home) | {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": url.rpartition(":")[2],
        "SERVICES": "s3,dynamodb,sts",
        "S3_DATA_DIR": str(home / "s3"),
        "STATE_DIR": str(home / "state"),
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
    }
    command = [str(Path(sys.executable).parent / "ministack")]
    ready = f"{url}/_ministack/ready"
    with _running(command, env, home / "ministack.log", ready) as group:
        yield url, group


@contextlib.contextmanager
def _running(command: list[str], env: Mapping[str, str], log: Path, ready: str) -> Iterator[int]:
    """The process group of a server that answers."""
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, env=env, stdout=said, stderr=said, start_new_session=True
        )
    try:
        _await(ready, process, log)
        yield process.pid
    finally:
        _stop(process)


def with_server(env: Mapping[str, str], server: PrefectServer) -> dict[str, str]:
    """The environment in which Prefect uses the server."""
    return {**env, "PREFECT_API_URL": server.api_url}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _await(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with _DIRECT.open(url, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise SystemExit(
        f"the server of {log} did not start:\n{log.read_text(errors='replace')[-2000:]}"
    )


def _stop(process: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
            return
