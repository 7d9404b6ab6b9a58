"""The processes of a soak, found by the mark in their environments and by nothing else."""

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.recovery.runs import is_alive

MARK = "SOAK_MARK"
_RUN_ID = "PREFECT__FLOW_RUN_ID"


@dataclass(frozen=True, slots=True)
class Marked:
    """A living process of ours; ``run_id`` where it carries out a flow run."""

    pid: int
    run_id: str | None
    size_bytes: int


def marked(mark: str) -> list[Marked]:
    """All that live with this mark, but for this very process."""
    return [one for one in _found(mark) if one.pid != os.getpid()]


def flow_processes(mark: str) -> list[Marked]:
    """Those that carry out flow runs, the oldest first."""
    return sorted((one for one in marked(mark) if one.run_id is not None), key=lambda one: one.pid)


def end(pid: int) -> bool:
    """SIGKILL to one process; False where it was gone."""
    return send(pid, signal.SIGKILL)


def send(pid: int, number: signal.Signals) -> bool:
    """A signal to one process of ours; False where it was gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _found(mark: str) -> Iterator[Marked]:
    wanted = f"{MARK}={mark}"
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            environ = folder.joinpath("environ").read_bytes().decode(errors="replace").split("\0")
            if wanted in environ and is_alive(int(folder.name)):
                pairs = dict(one.partition("=")[::2] for one in environ)
                yield Marked(int(folder.name), pairs.get(_RUN_ID), resident_bytes(int(folder.name)))


def resident_bytes(pid: int) -> int:
    """Of a process; 0 where it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
