"""What stands for a batch's work in worker processes, one of which is killed once.

A task crosses by value, with what its module holds at that moment: so does what is put there.
"""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenemosaic import resuming, windows
from scenemosaic.grids.grid import Window
from scenemosaic.repair import engine
from scenemosaic.repair.engine import RepairBatch
from scenemosaic.session import JobSpec, Run
from scenemosaic.tile import EncodedTile
from scenemosaic.top_boxes import committing


def die_once(mark: Path) -> None:
    """Kill this process, if it is the first that comes here."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Windows:
    """Appends each window that was computed to ``notes``; a batch's third kills, once."""

    notes: Path
    mark: Path

    def __call__(self, spec: JobSpec, numbers: Sequence[int], run: Run) -> windows.BatchResult:
        begun, real = 0, windows.make_tile

        def make_tile(spec: JobSpec, window: Window) -> EncodedTile:
            nonlocal begun
            begun += 1
            if begun == 3:
                die_once(self.mark)
            tile = real(spec, window)
            with self.notes.open("a") as notes:
                notes.write(f"{window.name}\n")
            return tile

        windows.make_tile = make_tile
        try:
            return resuming.resume_windows(spec, numbers, run)
        finally:
            windows.make_tile = real


@dataclass(frozen=True)
class Boxes:
    """The first box that was made kills, before it is committed."""

    mark: Path

    def __call__(self, *given: Any) -> committing.BoxBatch:
        real = committing.make_box

        def make_box(*given: Any) -> Any:
            made = real(*given)
            die_once(self.mark)
            return made

        committing.make_box = make_box
        try:
            return committing.make_boxes(*given)
        finally:
            committing.make_box = real


@dataclass(frozen=True)
class Repairs:
    """The first window that was repaired kills, before anybody is told."""

    mark: Path

    def repair_windows(self, *given: Any, **named: Any) -> RepairBatch:
        batch = engine.repair_windows(*given, **named)
        die_once(self.mark)
        return batch
