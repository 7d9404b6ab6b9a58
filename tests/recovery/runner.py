"""``scenemosaic serve`` as a process that can die."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.flows.serving import environment
from tests.recovery.runs import end


class Runner:
    """``scenemosaic serve`` as a process, started when it is wanted, and again once it is dead."""

    def __init__(self, folder: Path, env: Mapping[str, str], *options: str) -> None:
        self._folder = folder
        self._env = env
        self._options = options
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """The process that serves by now."""
        if not self.is_alive:
            self._process = self._start()
        assert self._process is not None
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return (self._folder / "serve.log").read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL to it alone. Waited for, since its threads may outlive the first of them."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None:
            end(self._process)
            self._process = None

    def _start(self) -> "subprocess.Popen[str]":
        with (self._folder / "serve.log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "flows.cli", "serve", "--json", *self._options],
                cwd=self._folder,
                env=environment(self._env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert process.stdout is not None
        with process.stdout:
            line = process.stdout.readline()
        assert line, self.log[-3000:]
        assert json.loads(line)["deployments"]
        return process
