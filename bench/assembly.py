"""Assembly beside ``cp``, turn by turn, in one process: ``python -m bench.assembly``.

The interpreter's start is left out, ``cp``'s own is not. The first turn also imports
what assembly needs, so it stands alone. Both read from the page cache, and nothing is
dirty when either begins. What ``fsync`` of the finished file takes is told separately:
neither does it by itself.
"""

import argparse
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import engine
from bench.committed import Committed
from scenemosaic import stored_job
from scenemosaic.machine import collector

Turn = dict[str, float]


def turn(committed: Committed, source: Path, copy: Path) -> Turn:
    """One assembly and one ``cp`` of the same bytes: seconds."""
    committed.rewind()
    copy.unlink(missing_ok=True)
    took = _timed("assembly", lambda: _assemble(committed), committed.mosaic)
    if not source.exists():
        shutil.copyfile(committed.mosaic, source)
    command = ["cp", str(source), str(copy)]
    return took | _timed("cp", lambda: subprocess.run(command, check=True), copy)


def _timed(name: str, work: Callable[[], object], made: Path) -> Turn:
    os.sync()
    started = time.monotonic()
    work()
    done = time.monotonic()
    with made.open("rb") as file:
        os.fsync(file.fileno())
    return {name: done - started, f"{name} and fsync": time.monotonic() - started}


def _assemble(committed: Committed) -> None:
    spec = stored_job.load_job(committed.job_id, str(committed.root), None)
    engine.assemble(engine.Clock(), spec)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; prints the turns as JSON, the first one alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job")
    parser.add_argument("root", type=Path)
    parser.add_argument("saved", type=Path, help="a copy of the manifest as it was before")
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--turns", type=int, default=7)
    options = parser.parse_args(arguments)
    collector.work()
    committed = Committed.found(options.root, options.job, options.saved)
    files = options.scratch / "cp-from.tif", options.scratch / "cp-to.tif"
    turns = [turn(committed, *files) for _ in range(options.turns + 1)]
    for path in files:
        path.unlink()
    print(json.dumps({"first": turns[0], "later": turns[1:]}))


if __name__ == "__main__":
    main()
