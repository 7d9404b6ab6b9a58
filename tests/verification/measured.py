"""A verification in a process of its own: ``python -m tests.verification.measured``.

Arguments: job ID, root, manifest (or -), and "deep" if it is to be. Prints one JSON
object: what was found, and the most memory that the process ever held.
"""

import json
import sys
import time
from pathlib import Path

from scenemosaic.places import place_at
from scenemosaic.verification.verify import verify_job


def _peak_kib() -> int:
    # Not ru_maxrss, which begins at the size of the process that started this one.
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def main(job_id: str, root: str, manifest: str, deep: str = "") -> None:
    begun = time.monotonic()
    url = None if manifest == "-" else manifest
    report = verify_job(job_id, place_at(root, url), deep=bool(deep))
    value = {
        "checked": report.checked,
        "counts": report.counts,
        "peak_mib": _peak_kib() / 1024,
        "seconds": round(time.monotonic() - begun, 1),
    }
    print(json.dumps(value))


if __name__ == "__main__":
    main(*sys.argv[1:])
