"""``python -m tests.soak --minutes 60 --seed 8``; the exit code is 1 where anything was found."""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from tests.soak.run import run


def main() -> int:
    """Parse the arguments and run; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="of kills; the rest is quiet")
    parser.add_argument("--seed", type=int, default=8, help="of the schedule")
    parser.add_argument("--folder", type=Path, help="kept afterwards; left out, a temporary one")
    given = parser.parse_args()
    # Whoever ends this ends its servers, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if given.folder is not None:
        given.folder.mkdir(parents=True)
        return report(given.minutes, given.seed, given.folder.resolve())
    with tempfile.TemporaryDirectory(prefix="scenemosaic-soak-") as folder:
        return report(given.minutes, given.seed, Path(folder))


def report(minutes: float, seed: int, folder: Path) -> int:
    """Run, print the table, and say what was found."""
    result = run(minutes, seed, folder)
    print(result.table)
    return 1 if result.violations else 0


if __name__ == "__main__":
    sys.exit(main())
