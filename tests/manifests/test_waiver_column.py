"""A manifest of an earlier version lacks a column: it is told so, and init adds it."""

import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scenemosaic import job
from scenemosaic.errors import OldSchema
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Inserted
from scenemosaic.manifests.sql import SqlManifest
from tests.jobs.conftest import write_scene
from tests.manifests.support import JOB, row


@pytest.fixture
def old(tmp_path: Path) -> str:
    """With one row, as it was made before there were waivers."""
    url = f"sqlite:///{tmp_path}/manifest.db"
    manifest = open_manifest(url)
    manifest.ensure()
    manifest.insert(row("0000_0000"))
    manifest.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "manifest.db")) as database:
        database.execute("ALTER TABLE manifest_rows DROP COLUMN waiver")
    return url


def test_it_says_what_to_do(old: str) -> None:
    manifest = open_manifest(old)
    assert not manifest.ready()
    for call in (
        lambda: manifest.get(JOB, "0000_0000"),
        lambda: manifest.insert(row("0000_0001")),
        lambda: list(manifest.windows([JOB])),
        lambda: manifest.replace(row(), 1),
    ):
        with pytest.raises(OldSchema, match="earlier version; run `scenemosaic init`"):
            call()


def test_ensure_adds_the_column_and_keeps_the_rows(old: str) -> None:
    manifest = open_manifest(old)
    assert manifest.ensure()
    assert manifest.get(JOB, "0000_0000") == row("0000_0000")
    assert manifest.insert(row("0000_0001", waiver="clouds")) == Inserted()
    found = manifest.get(JOB, "0000_0001")
    assert found is not None
    assert found.waiver == "clouds"
    assert not open_manifest(old).ensure()


def test_many_add_it_at_once(old: str) -> None:
    manifests = [SqlManifest(old) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda manifest: manifest.ensure(), manifests))
    assert made.count(True) == 1
    assert all(manifest.ready() for manifest in manifests)


def test_in_postgresql(postgres_url: str) -> None:
    manifest = SqlManifest(postgres_url)
    manifest.ensure()
    manifest.insert(row("0000_0000"))
    with manifest._transaction("make it old", writes=True) as connection:
        connection.exec_driver_sql("ALTER TABLE manifest_rows DROP COLUMN waiver")
    later = SqlManifest(postgres_url)
    assert not later.ready()
    assert later.ensure()
    assert later.get(JOB, "0000_0000") == row("0000_0000")
    for one in (manifest, later):
        one.close()


def test_process_adds_it_and_does_not_take_the_job_for_new(old: str, tmp_path: Path) -> None:
    scene = write_scene(tmp_path / "scene.tif", 64, 64)
    options = job.PlanOptions(window=64, block_size=64)
    spec = job.plan_job([str(scene)], str(tmp_path), old, options)
    assert job.finished(spec) is None
    with pytest.raises(OldSchema):
        job.find_gaps(spec)
    assert job.prepare(spec)
    assert len(job.find_gaps(spec).missing) == 1
