"""Runs one command and says what it cost. Standard library only.

A child's ``ru_maxrss`` starts from its parent's size at the fork, so the process
that measures stays small: numpy and GDAL are imported in children alone.
"""

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIMEOUT_S = 7200.0
_POLL_S = 0.005


@dataclass(frozen=True)
class Cost:
    """What one command cost. CPU is user + system, with every child that it waited for.

    ``peak_bytes`` is the largest single process's. ``told`` is the JSON object that
    the command printed to stdout, where it printed one; ``out_bytes`` is the size of the
    raster that it wrote, where the case says which.
    """

    cpu_s: float
    wall_s: float
    peak_bytes: int
    first_s: float | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
    out_bytes: int = 0


class CommandFailed(RuntimeError):
    """A measured command did not exit 0; carries the end of what it said."""


def measure(
    command: Sequence[str],
    env: Mapping[str, str],
    first: Callable[[], bool] | None = None,
) -> Cost:
    """Run ``command`` to its end; ``first_s`` is when ``first`` was true at first."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.sync()  # no earlier case's dirty pages are written on this one's time
        started = time.monotonic()
        process = subprocess.Popen(
            command, env=dict(env), stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        watch = _Watch(process.pid, started, first)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        first_s = watch.stop()
        if process.returncode:
            raise CommandFailed(f"{' '.join(command)}: exit {process.returncode}\n{_tail(err)}")
        out.seek(0)
        told = _json(out.read().decode())
    cpu_s = usage.ru_utime + usage.ru_stime
    return Cost(cpu_s, wall_s, usage.ru_maxrss * 1024, first_s, told)


def run(command: Sequence[str], env: Mapping[str, str]) -> Mapping[str, Any]:
    """Run an unmeasured step; what it told as JSON."""
    return measure(command, env).told


def group_cpu_s(group: int) -> float:
    """User and system seconds so far of every process of a process group that lives."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class _Watch:
    """Ends a command that takes too long, and notes when something first came true."""

    def __init__(self, pid: int, started: float, first: Callable[[], bool] | None) -> None:
        self._pid, self._started, self._first = pid, started, first
        self._done = threading.Event()
        self._first_s: float | None = None
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def stop(self) -> float | None:
        self._done.set()
        self._thread.join()
        return self._first_s

    def _loop(self) -> None:
        while not self._done.wait(_POLL_S if self._waits() else 1.0):
            elapsed = time.monotonic() - self._started
            if self._first and self._first_s is None and self._first():
                self._first_s = elapsed
            if elapsed > TIMEOUT_S:
                os.kill(self._pid, signal.SIGKILL)
                return

    def _waits(self) -> bool:
        return self._first is not None and self._first_s is None


def _json(text: str) -> Mapping[str, Any]:
    lines = text.strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        return {}
    told: Mapping[str, Any] = json.loads(lines[-1])
    return told


def _tail(err: Any) -> str:
    err.seek(0)
    return "\n".join(err.read().decode(errors="replace").splitlines()[-20:])
