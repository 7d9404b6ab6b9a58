"""Commands as processes that need not import anything: forks of one that has done so.

What a command imports takes longer than what most tests have it do. ``python -m tests.forked``
imports all but Prefect, once, and each command is a fork of it: a process of its own, with its own
environment, folder, streams and exit code, in which :func:`flows.cli.main` begins as ever.
"""

import atexit
import contextlib
import functools
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
_OF_COMMANDS = ("console", "cli_gc", "cli_jobs", "cli_ledger", "cli_plan", "cli_policy",
                "cli_preflight", "cli_process", "cli_publish", "cli_repair", "cli_verify",
                "streams", "stopping")  # fmt: skip
_MOST_BYTES = 1 << 20


class Forks:
    """The process that forks, which ends with this one; safe in many threads."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="sm-forks-")
        self._address = str(Path(self._folder.name) / "socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._address)
            listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forked", str(listener.fileno())],
                cwd=REPOSITORY,
                stdin=subprocess.PIPE,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )

    def run(
        self, arguments: Sequence[str], folder: Path, env: Mapping[str, str], give_up_s: float
    ) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of ``scenemosaic ARGUMENTS``. One that hangs is killed."""
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            socket.socket(socket.AF_UNIX) as asked,
        ):
            asked.connect(self._address)
            text = json.dumps([list(arguments), str(folder), dict(env)]).encode()
            socket.send_fds(asked, [b"%9d" % len(text)], [out.fileno(), err.fileno()])
            asked.sendall(text)
            pid = int(_received(asked, 9))
            asked.settimeout(give_up_s)
            try:
                code = int(_received(asked, 9))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise
            return code, _read(out), _read(err)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()


@functools.cache
def forks() -> Forks:
    """This process's own, which ends with it."""
    made = Forks()
    atexit.register(made.close)
    return made


def _read(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode().replace("\r\n", "\n"))


def _received(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise ConnectionError("the process that forks is gone")
        found += more
    return found


def _import_all() -> None:
    """What commands import as they begin, and what they come to, but for Prefect."""
    import scenemosaic
    from scenemosaic.machine import one_thread

    one_thread.one_thread_each()
    for name in one_thread.ONE_THREAD:
        os.environ[name] = "1"
    for module in pkgutil.walk_packages(scenemosaic.__path__, "scenemosaic."):
        importlib.import_module(module.name)
    for name in ("cli", *_OF_COMMANDS):
        importlib.import_module(f"flows.{name}")
    assert "prefect" not in sys.modules, "a command may not even import it where it needs it not"


def _serve(listener: socket.socket) -> list[str] | None:
    """Fork for whoever asks until stdin ends. In a fork: the command's arguments."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(listener, selectors.EVENT_READ)
        waiting.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fileobj is sys.stdin:
                    return None
                if key.data is not None:
                    _tell_end(waiting, key)
                    continue
                asked, _ = listener.accept()
                with _given(asked) as (given, streams):
                    pid = os.fork()
                    if not pid:
                        listener.close()
                        asked.close()
                        return _become(given, streams)
                asked.sendall(b"%9d" % pid)
                waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, asked))


@contextlib.contextmanager
def _given(asked: socket.socket) -> Iterator[tuple[Any, list[int]]]:
    size, streams, *_ = socket.recv_fds(asked, 9, 2)
    try:
        yield json.loads(_received(asked, int(size))), streams
    finally:
        for stream in streams:
            os.close(stream)


def _tell_end(waiting: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    pid, asked = key.data
    waiting.unregister(key.fileobj)
    os.close(key.fd)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(OSError), asked:
        asked.sendall(b"%9d" % code)


def _become(given: Any, streams: list[int]) -> list[str]:
    """This fork is the command now."""
    arguments, folder, env = given
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    null = os.open(os.devnull, os.O_RDONLY)
    for number, stream in enumerate([null, *streams]):
        os.dup2(stream, number)
    os.close(null)
    return list(arguments)


def _main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        _import_all()
        arguments = _serve(listener)
    if arguments is not None:
        from flows import cli

        sys.argv = ["scenemosaic", *arguments]
        # As ``python -m`` has it: the folder where the user stands comes first.
        sys.path[0] = os.getcwd()
        cli.main()


if __name__ == "__main__":
    _main()
