"""Worker processes that note each window which they compute, and one of which is killed once."""

import os
import signal
from pathlib import Path
from typing import Any

from distributed import WorkerPlugin

from scenemosaic import windows
from scenemosaic.grid import Window
from scenemosaic.session import JobSpec
from scenemosaic.tile import EncodedTile


class Armed(WorkerPlugin):
    """Appends windows to ``notes``; the first process that begins its third window dies."""

    def __init__(self, notes: Path) -> None:
        self._notes = notes
        self._begun = 0

    def setup(self, worker: Any) -> None:
        self._real = windows.make_tile
        windows.make_tile = self._make_tile

    def teardown(self, worker: Any) -> None:
        windows.make_tile = self._real

    def _make_tile(self, spec: JobSpec, window: Window) -> EncodedTile:
        self._begun += 1
        if self._begun == 3 and self._first_of_all():
            os.kill(os.getpid(), signal.SIGKILL)
        tile = self._real(spec, window)
        with self._notes.open("a") as notes:
            notes.write(f"{window.name}\n")
        return tile

    def _first_of_all(self) -> bool:
        try:
            os.close(os.open(self._notes.with_suffix(".killed"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True
