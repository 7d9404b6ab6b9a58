"""Commands as processes that need not import anything: forks of one that has done so.

What a command imports takes longer than what most tests have it do. ``python -m tests.forked``
imports all but Prefect, once, and each command is a fork of it: a process of its own, with its own
environment, folder, streams and exit code, in which :func:`flows.cli.main` begins as ever. So are
the modules of tests that are processes.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.asking import NUMBER, ask, received

COMMANDS = "flows.cli"
REPOSITORY = Path(__file__).resolve().parent.parent
_OF_COMMANDS = ("terminal.console", "terminal.streams", "terminal.stopping", "verbs.gc",
                "verbs.jobs", "verbs.ledger", "verbs.plan", "verbs.policy", "verbs.preflight",
                "verbs.process", "verbs.publish", "verbs.repair", "verbs.verify")  # fmt: skip
# What Prefect imports, by itself, of others.
_OF_PREFECT = ("amplitude", "asgi_lifespan", "coolname", "fsspec", "griffe", "httpx", "humanize",
               "pathspec", "pendulum", "prometheus_client", "pydantic_extra_types",
               "pydantic_settings", "rich.console", "slugify", "websockets", "yaml")  # fmt: skip


class Fork:
    """A process that was forked, with as much of ``subprocess.Popen`` as tests ask of one.

    It leads a process group of its own.
    """

    def __init__(self, asked: socket.socket, out: Any, err: Any, stdin: Any = None) -> None:
        self._asked, self._out, self._err, self.stdin = asked, out, err, stdin
        self.stdout = out
        self.pid = int(received(asked, NUMBER))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative where a signal ended it, or None while it is at work."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            ended = select.poll()
            ended.register(self._asked, select.POLLIN)
            if not ended.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(f"fork {self.pid}", timeout or 0)
            self.returncode = int(received(self._asked, NUMBER))
            self._asked.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that it said to stdout and to stderr, which are files."""
        self.wait(timeout)
        return _read(self._out), _read(self._err)

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


class Forks:
    """The process that forks, which ends with this one; safe in many threads."""

    def __init__(self) -> None:
        self.name = f"scenemosaic-{uuid.uuid4().hex}"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"\0{self.name}")  # no file that could be left behind
            listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forked", str(listener.fileno())],
                cwd=REPOSITORY,
                stdin=subprocess.PIPE,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        folder: Path,
        env: Mapping[str, str],
        log: Any = None,
    ) -> Fork:
        """``python -m MODULE ARGUMENTS`` in ``folder``, without stdin.

        Its streams are files, or ``log``, which is one.
        """
        # They are read once it has ended.
        out = log or tempfile.TemporaryFile()  # noqa: SIM115
        err = log or tempfile.TemporaryFile()  # noqa: SIM115
        with open(os.devnull, "rb") as null:
            return Fork(self._ask(module, arguments, folder, env, [null, out, err]), out, err)

    def start_piped(
        self, module: str, arguments: Sequence[str], folder: Path, env: Mapping[str, str]
    ) -> Fork:
        """The same, which is talked to: its stdin and its stdout are pipes, its stderr is ours."""
        (take, give), (hear, say) = os.pipe(), os.pipe()
        asked = self._ask(module, arguments, folder, env, [take, say, 2])
        os.close(take)
        os.close(say)
        return Fork(asked, open(hear), None, open(give, "w"))

    def _ask(
        self,
        module: str,
        arguments: Sequence[str],
        folder: Path,
        env: Mapping[str, str],
        streams: Sequence[Any],
    ) -> socket.socket:
        numbers = [one if isinstance(one, int) else one.fileno() for one in streams]
        return ask(f"\0{self.name}", module, arguments, str(folder), env, numbers)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@functools.cache
def forks() -> Forks:
    """This process's own, which ends with it."""
    made = Forks()
    atexit.register(made.close)
    return made


def _read(file: Any) -> str:
    with file:
        file.seek(0)
        return str(file.read().decode())


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
    for name in _OF_PREFECT:
        importlib.import_module(name)
    assert "prefect" not in sys.modules, "a command may not even import it where it needs it not"
    gc.freeze()


def _serve(listener: socket.socket) -> list[str] | None:
    """Fork for whoever asks until stdin ends. In a fork: its module and its arguments."""
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
                with contextlib.suppress(OSError):  # it has done so itself, and may have ended
                    os.setpgid(pid, pid)
                asked.sendall(b"%*d" % (NUMBER, pid))
                waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, asked))


@contextlib.contextmanager
def _given(asked: socket.socket) -> Iterator[tuple[Any, list[int]]]:
    size, streams, *_ = socket.recv_fds(asked, NUMBER, 3)
    try:
        yield json.loads(received(asked, int(size))), streams
    finally:
        for stream in streams:
            os.close(stream)


def _tell_end(waiting: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    pid, asked = key.data
    waiting.unregister(key.fileobj)
    os.close(key.fd)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(OSError), asked:
        asked.sendall(b"%*d" % (NUMBER, code))


def _become(given: Any, streams: list[int]) -> list[str]:
    """This fork is the module's process now."""
    module, arguments, folder, env = given
    os.setpgid(0, 0)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    return [module, *arguments]


def _main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        _import_all()
        asked = _serve(listener)
    if asked is None:
        return
    # As ``python -m`` has it: the folder where it stands comes first.
    sys.path[0] = os.getcwd()
    module, *sys.argv[1:] = asked
    if module == COMMANDS:
        from flows import cli

        cli.main()
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
