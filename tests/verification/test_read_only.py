"""A verification changes nothing, and reads each object once."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from scenemosaic import job_rows as rows
from scenemosaic import keys
from scenemosaic.committing import history
from scenemosaic.errors import PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.session import Session, open_session
from scenemosaic.verification import verify as verifying
from scenemosaic.verification.inspection import inspect_window
from scenemosaic.verification.verify import verify
from scenemosaic.waiting.retry import Effects, RetryPolicy
from tests.faults.proxy import Proxy, no_faults
from tests.jobs.places import REPOSITORY, MakePlace
from tests.verification.conftest import Finish
from tests.verification.damage import NAME, NUMBER, Damage


def test_no_mutating_call_reaches_store_or_manifest(
    finish: Finish, s3_place: MakePlace, small_scene: Path
) -> None:
    damage = finish(s3_place, small_scene)
    damage.delete(damage.tile("0000_0000"))
    damage.flip(keys.mosaic_key(damage.job_id), -20)
    place = damage.place
    module = [sys.executable, "-m", "tests.verification.measured"]
    with Proxy(place.env["AWS_ENDPOINT_URL"], no_faults) as proxy:
        done = subprocess.run(
            [*module, damage.job_id, place.root, place.manifest, "deep"],
            cwd=REPOSITORY,
            env={**os.environ, "AWS_ENDPOINT_URL": proxy.url},
            capture_output=True,
            text=True,
            timeout=240,
            check=True,
        )
        mutations, requests = proxy.mutations, proxy.requests
    counts = json.loads(done.stdout)["counts"]
    assert counts == {"delete-marker": 1, "version": 1, "etag": 1, "checksum": 1, "undecodable": 1}
    assert mutations == []
    reads = [request.path for request in requests if request.method == "GET"]
    tiles = Counter(path for path in reads if "/tiles/" in path and path.endswith(".tif"))
    assert len(tiles) == 8
    assert set(tiles.values()) == {1}


def test_no_file_is_changed(local_damage: Damage) -> None:
    top = local_damage.path("")

    def state() -> dict[str, tuple[int, int, int]]:
        found = {}
        for path in sorted(top.rglob("*")):
            status = path.stat()
            found[str(path)] = (status.st_size, status.st_mtime_ns, status.st_ino)
        return found

    before = state()
    local_damage.found(deep=True)
    assert state() == before
    assert os.listdir(top)


class _Busy:
    """A manifest whose pages cannot be had ``failures`` times, each time after two rows."""

    def __init__(self, session: Session, failures: int) -> None:
        self._inner, self._failures = session.manifest, failures

    def rows(self, partitions: object) -> object:
        for number, row in enumerate(self._inner.rows(partitions)):  # type: ignore[arg-type]
            if number == 2 and self._failures:
                self._failures -= 1
                raise TransientStoreError("busy")
            yield row


def _session(damage: Damage, failures: int) -> tuple[Session, list[float]]:
    real, slept = open_session(damage.spec), list[float]()
    effects = Effects(lambda: 0.0, slept.append, lambda: 0.5)
    busy = _Busy(real, failures)
    return Session(real.store, busy, RetryPolicy(attempts=3), effects), slept  # type: ignore[arg-type]


def test_a_busy_manifest_is_asked_again_and_gives_each_row_once(local_damage: Damage) -> None:
    session, slept = _session(local_damage, 2)
    names = [row.window for row in rows.stream_rows(session, local_damage.spec)]
    assert len(names) == len(set(names)) == 10
    assert len(slept) == 2


def test_a_manifest_that_stays_busy_is_a_store_error(local_damage: Damage) -> None:
    session, slept = _session(local_damage, 99)
    with pytest.raises(StoreError, match="busy"):
        list(rows.stream_rows(session, local_damage.spec))
    assert len(slept) == 2


def test_a_row_of_no_window(local_damage: Damage) -> None:
    session = local_damage.session
    session.manifest.insert(replace(local_damage.row(), window="0100_0000"))
    session.manifest.insert(replace(local_damage.row(), window="1_1"))
    assert local_damage.found() == {("0100_0000", "stray-object"), ("1_1", "stray-object")}


def test_versions_that_may_not_be_listed_do_not_hide_that_a_tile_is_gone(
    local_damage: Damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> object:
        raise PermanentStoreError("403 AccessDenied")

    local_damage.delete(local_damage.tile())
    monkeypatch.setattr(history, "look", refuse)
    session, spec, row = local_damage.session, local_damage.spec, local_damage.row()
    (finding,) = inspect_window(session, spec, NUMBER, row, deep=False).findings
    assert (finding.subject, finding.kind.value) == (NAME, "missing-object")
    assert "AccessDenied" in finding.detail


def test_an_error_of_a_worker_ends_the_verification(
    local_damage: Damage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> object:
        raise PermanentStoreError("no permission")

    monkeypatch.setattr(verifying, "inspect_window", fail)
    with pytest.raises(PermanentStoreError, match="no permission"):
        verify(local_damage.spec)
