"""Must hold: a verification of 10,000 tiles stays under 300 MiB.

Usually of 2,500, which stays under 150 MiB: a process that verifies nothing has 100, and a tile may
take as little more of it.
"""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rasterio

from scenemosaic import job
from scenemosaic.manifests.packing import pack
from scenemosaic.manifests.port import Inserted, Row
from scenemosaic.planning import PlanOptions
from scenemosaic.session import open_session
from tests.jobs.places import REPOSITORY
from tests.lengths import length
from tests.verification.damage import ME

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ACROSS, WINDOW = length(50, 100), 16
MOST_MIB = length(150, 300)


@pytest.fixture
def many_tiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """A finished job of so many windows, made without waiting for the disk: its ID and root."""
    root, scene = tmp_path / "root", _scene(tmp_path / "scene.tif")
    options = PlanOptions(window=WINDOW, block_size=WINDOW)
    spec = job.plan_job([str(scene)], str(root), None, options)
    job.prepare(spec)
    job.publish_plan(spec, ME)
    rows: list[Row] = []

    def insert(row: Row) -> Inserted:
        rows.append(row)
        return Inserted()

    with monkeypatch.context() as quick:
        quick.setattr(os, "fsync", lambda descriptor: None)
        quick.setattr(open_session(spec).manifest, "insert", insert)
        job.commit_windows(spec, range(ACROSS * ACROSS), ME)
    _insert_all(root / "manifest.db", rows)
    job.assemble(spec, ME)
    return spec.plan.job_id, root


def _scene(path: Path) -> Path:
    side = ACROSS * WINDOW
    pixels = np.random.default_rng(0).integers(0, 9, (1, side, side), dtype=np.uint8)
    with rasterio.open(
        path, "w", driver="GTiff", height=side, width=side, count=1, dtype="uint8",
        crs="EPSG:32631", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6), tiled=True,
    ) as dataset:  # fmt: skip
        dataset.write(pixels)
    return path


def _insert_all(database: Path, rows: list[Row]) -> None:
    columns = [pack(row) for row in rows]
    names = ", ".join(f'"{name}"' for name in columns[0])
    values = ", ".join(f":{name}" for name in columns[0])
    connection = sqlite3.connect(database)
    with connection:
        connection.executemany(f"INSERT INTO manifest_rows ({names}) VALUES ({values})", columns)
    connection.close()


def _as_it_comes() -> dict[str, str]:
    """With Python's own collector, which comes more often than in other processes of tests."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_thousands_of_tiles(many_tiles: tuple[str, Path]) -> None:
    job_id, root = many_tiles
    command = [sys.executable, "-m", "tests.verification.measured", job_id, str(root), "-"]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=_as_it_comes(), capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert (measured["checked"], measured["counts"]) == (ACROSS * ACROSS, {})
    assert measured["peak_mib"] < MOST_MIB
