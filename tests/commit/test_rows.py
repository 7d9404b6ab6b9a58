"""Committing rows: a lost reply is resolved by what stands there."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenemosaic.committing.commit import RetryPolicy, commit_row
from scenemosaic.errors import TransientStoreError
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Existing, Inserted, Manifest, Row
from tests.faults.effects import FakeTime

POLICY = RetryPolicy(attempts=4)
ROW = Row(
    partition="0123@4567",
    window="0000_0001",
    output_uri="file:///x/tiles/0123/0000_0001.tif",
    bytes=4,
    sha256="ab",
    etag='"1-ab"',
    version_id=None,
    blocks=None,
    crc=(1, 2),
    revision=1,
    written_by="run-1",
    written_at="2026-11-29T12:00:00Z",
)
THEIRS = dataclasses.replace(ROW, written_by="run-2")


class LostReplies:
    """The first ``lost`` inserts land (or not), and their replies are lost."""

    def __init__(self, inner: Manifest, lost: int, lands: bool) -> None:
        self.inner, self.left, self.lands, self.inserts = inner, lost, lands, 0

    def insert(self, row: Row) -> Inserted | Existing:
        self.inserts += 1
        if self.left == 0:
            return self.inner.insert(row)
        self.left -= 1
        if self.lands:
            self.inner.insert(row)
        raise TransientStoreError("reply lost")

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


@pytest.fixture
def manifest(tmp_path: Path) -> Iterator[Manifest]:
    opened = open_manifest(f"sqlite:///{tmp_path}/manifest.db")
    opened.ensure()
    yield opened
    opened.close()


def commit(manifest: Manifest | LostReplies, row: Row = ROW) -> Inserted | Existing:
    return commit_row(manifest, row, POLICY, FakeTime().effects())  # type: ignore[arg-type]


def test_a_row_is_inserted_once(manifest: Manifest) -> None:
    assert commit(manifest) == Inserted()
    assert commit(manifest, THEIRS) == Existing(ROW)
    assert commit(manifest) == Existing(ROW)


@pytest.mark.parametrize("lands", [True, False])
def test_a_lost_reply_ends_inserted(manifest: Manifest, lands: bool) -> None:
    lossy = LostReplies(manifest, 2, lands)
    assert commit(lossy) == Inserted()
    assert lossy.inserts == 3
    assert list(manifest.rows([ROW.partition])) == [ROW]


def test_after_a_lost_request_another_runs_row_is_existing(manifest: Manifest) -> None:
    manifest.insert(THEIRS)
    assert commit(LostReplies(manifest, 1, lands=False)) == Existing(THEIRS)


def test_replies_lost_for_ever_are_raised(manifest: Manifest) -> None:
    lossy = LostReplies(manifest, 99, lands=True)
    with pytest.raises(TransientStoreError):
        commit(lossy)
    assert lossy.inserts == POLICY.attempts
