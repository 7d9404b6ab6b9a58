"""Processes that a command started, found by what they inherit from its environment."""

from pathlib import Path
from typing import Final

MARK: Final = "SCENEMOSAIC_TEST_MARK"


def marked(folder: Path) -> list[int]:
    """The living processes whose mark is ``folder``."""
    wanted = f"{MARK}={folder}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:  # another's, or gone
            continue
    return found
