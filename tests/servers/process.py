"""A server as a process: on 127.0.0.1 and a free port, ended by its own process group.

It keeps its state, its home and its log in the folder that it is given.
Its console script is the one installed beside the running interpreter.
"""

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

START_S = 60.0
STOP_S = 10.0
_TESTS = Path(__file__).resolve().parents[1]
# What a Python of ours reads as it starts; and with the product as it lies here.
SELDOM = str(_TESTS / "seldom")
PYTHONPATH = os.pathsep.join([str(_TESTS.parent), SELDOM])
_KEPT_ENV = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV")
_port_offsets = itertools.count()
# Proxies of the environment must never see a request to a server of ours.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ServerFailed(RuntimeError):
    """A server ended early or did not answer in time; carries the end of its log."""


@dataclass(frozen=True)
class Server:
    """A running server and its log."""

    name: str
    url: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def stop(self) -> None:
        """End this server's own process group, politely first. May be called twice."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_S)
                return

    def log_tail(self, lines: int = 30) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def free_port() -> int:
    """A port of 127.0.0.1 that is free, and that nobody is given by chance.

    Systems give ports from 32768 on to whoever asks for any, a client or a server, so one
    of those could be taken before its server listens. Processes begin in different places.
    """
    for offset in _port_offsets:
        port = 10_000 + (os.getpid() * 101 + offset) % 20_000
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise ServerFailed("no free port")


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses every connection while the block runs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


def script(name: str) -> str:
    """The console script ``name`` of the running interpreter's environment."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        raise ServerFailed(f"{name} is not installed beside {sys.executable}; see pyproject's dev")
    return str(path)


def clean_env(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """A small environment whose home and temporary files are in ``folder``."""
    kept = {name: os.environ[name] for name in _KEPT_ENV if name in os.environ}
    own = {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    return kept | own | {"PYTHONPATH": SELDOM} | dict(extra or {})


def start(
    name: str,
    command: Sequence[str],
    port: int,
    folder: Path,
    *,
    env: Mapping[str, str] | None = None,
    ready_path: str = "/",
    start_s: float = START_S,
) -> Server:
    """Start ``command`` in ``folder`` and wait until it answers HTTP on ``port``."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}-{port}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            env=clean_env(folder, env),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(name, f"http://127.0.0.1:{port}", process, log)
    try:
        _wait_until_ready(server, ready_path, start_s)
    except BaseException:
        server.stop()
        raise
    return server


def _wait_until_ready(server: Server, path: str, start_s: float) -> None:
    give_up = time.monotonic() + start_s
    while not _answers(server.url + path):
        if server.process.poll() is not None:
            raise ServerFailed(f"{server.name} ended early:\n{server.log_tail()}")
        if time.monotonic() > give_up:
            raise ServerFailed(f"{server.name} silent for {start_s} s:\n{server.log_tail()}")
        time.sleep(0.05)


def _answers(url: str) -> bool:
    try:
        with _DIRECT.open(url, timeout=2):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


@contextlib.contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server for the length of a ``with`` block."""
    try:
        yield server
    finally:
        server.stop()
