"""The ways of :mod:`bench.others` as cases, as far as their interpreter has them."""

import subprocess
from pathlib import Path

from bench import report
from bench.cases import PYTHON, Case, Place, simple
from bench.committed import Committed
from bench.places import say


def other_cases(place: Place, committed: Committed, vrt: Path, python: str) -> list[Case]:
    """odc-geo from the scene and from the tiles, if ``python`` has it, and rasterio.merge."""
    tiles = committed.root / "tiles" / committed.job_id
    work = [_case(place, report.MERGE, "merge", tiles, PYTHON)]
    if not _has_odc(python):
        say(f"{python} has no odc-geo with dask: left out (see --others-python)")
        return work
    whole = _case(place, report.ODC, "odc", place.scene, python)
    return [whole, _case(place, report.ODC_TILES, "odc", vrt, python), *work]


def _case(place: Place, name: str, way: str, source: Path, python: str) -> Case:
    command = [python, "-m", "bench.others", way, str(source), str(place.out)]
    command += ["--window", str(place.window), "--predictor", str(place.predictor)]
    return simple(place, name, command)


def _has_odc(python: str) -> bool:
    command = [python, "-c", "import dask, odc.geo.cog"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
