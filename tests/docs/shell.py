"""A person's terminals: one bash in one folder, and what is begun in others beside it."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests import asking, forked, servers
from tests.docs.documents import Command

READY_S = 180.0
END_S = 30.0
_DONE = "done with exit code"
# The product as it lies here, and a stand-in for AWS's own command.
_TOOLS = {"scenemosaic": forked.COMMANDS, "aws": "tests.docs.aws"}


@dataclass
class Terminal:
    """Runs commands in ``folder``. ``real`` is what stands here for what a document says."""

    folder: Path
    bash: "subprocess.Popen[str]"
    env: Mapping[str, str]
    real: Mapping[str, str]
    others: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    @property
    def _logs(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}-logs")

    def run(self, command: Command) -> None:
        """Type it; fails where its exit code, or what it says, is not what was promised."""
        text = self._really(command.text)
        if command.elsewhere:
            self._begin(command, text)
            return
        out, err = self._logs / "out", self._logs / "err"
        code = self._type(f"{{ {text}\n}} >{shlex.quote(str(out))} 2>{shlex.quote(str(err))}")
        told = f"{command.document}: {text}\n{out.read_text()}\n{err.read_text()}"
        assert code == command.code, f"exit {code}: {told}"
        assert self._is_promised(command, out), told

    def prepare(self, line: str) -> None:
        """Type what no document says."""
        self.run(Command("(preparing)", line, 0, "", elsewhere=False))

    def _really(self, text: str) -> str:
        for documented, real in self.real.items():
            text = text.replace(documented, real)
        return text

    def _type(self, line: str) -> int:
        assert self.bash.stdin is not None
        assert self.bash.stdout is not None
        self.bash.stdin.write(f"{line} </dev/null; echo {_DONE} $?\n")
        self.bash.stdin.flush()
        said = self.bash.stdout.readline()
        assert said.startswith(_DONE), f"the shell ended: {line}"
        return int(said.split()[-1])

    def _is_promised(self, command: Command, out: Path) -> bool:
        return command.is_as_promised(self._really(command.said), out.read_text().strip())

    def _begin(self, command: Command, text: str) -> None:
        """What runs on is waited for until it has said what the document shows."""
        log = self._logs / f"other-{len(self.others)}"
        tool, *arguments = shlex.split(text)
        # A process of its own, to which signals come.
        module = [sys.executable, "-m", _TOOLS[tool]] if tool in _TOOLS else [tool]
        with log.open("wb") as out, log.with_suffix(".err").open("wb") as err:
            process = subprocess.Popen(
                [*module, *arguments], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                stdout=out, stderr=err, start_new_session=True,
            )  # fmt: skip
        self.others.append(process)
        give_up = time.monotonic() + READY_S
        while not self._is_promised(command, log):
            told = f"{text}\n{log.read_text()}\n{log.with_suffix('.err').read_text()}"
            assert process.poll() is None, f"it ended: {told}"
            assert time.monotonic() < give_up, told
            time.sleep(0.1)


@contextlib.contextmanager
def terminal(
    folder: Path, env: Mapping[str, str], real: Mapping[str, str] | None = None
) -> Iterator[Terminal]:
    """A terminal in an empty ``folder``; all that it began is ended."""
    for made in (folder, folder.with_name(f"{folder.name}-logs")):
        made.mkdir()
    tools = _make_tools(folder.with_name(f"{folder.name}-tools"))
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, **env, "PATH": path, "PYTHONPATH": servers.PYTHONPATH}
    bash = subprocess.Popen(
        ["bash", "--norc"], cwd=folder, env=env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    opened = Terminal(folder, bash, env, real or {})
    try:
        yield opened
    finally:
        for process in [*opened.others, bash]:
            _end(process)


def _make_tools(folder: Path) -> Path:
    """Programs that are forks, each a process all the same."""
    folder.mkdir()
    asks = shlex.join([sys.executable, "-S", asking.__file__, forked.forks().name])
    for name, module in _TOOLS.items():
        tool = folder / name
        tool.write_text(f'#!/bin/sh\nexec {asks} {module} "$@"\n')
        tool.chmod(0o755)
    return folder


def _end(process: "subprocess.Popen[str] | subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
            break
    if process.stdout is not None:
        process.stdout.close()
