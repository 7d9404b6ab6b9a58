"""A tile whose bytes are not those of its row stops assembly and is named; no mosaic appears."""

import os
from pathlib import Path
from unittest import mock
from urllib.parse import unquote, urlsplit

import pytest

from scenemosaic import job
from scenemosaic.errors import ForeignObject, IncompleteError, SceneMosaicError
from scenemosaic.keys import item_key, mosaic_key, tile_key
from scenemosaic.planning import PlanOptions
from scenemosaic.stores import local_files
from scenemosaic.verification.verify import verify
from tests.jobs.places import MakePlace, Place, client
from tests.repair.made import Made


def _tiled(place: Place, scene: Path) -> job.JobSpec:
    spec = job.plan_job([str(scene)], place.root, place.manifest, PlanOptions(window=512))
    me = job.Run("test", "test")
    job.prepare(spec)
    job.publish_plan(spec, me)
    job.commit_windows(spec, job.missing_windows(spec), me)
    return spec


# The header of a tile that is not the first is never read: only its date tells of byte 40.
@pytest.mark.parametrize(
    ("where", "mtime_is_kept"),
    [(-100, True), (2000, True), (-100, False), (2000, False), (40, False)],
)
def test_a_flipped_bit_of_a_local_tile(
    local_place: MakePlace, scene: Path, where: int, mtime_is_kept: bool
) -> None:
    place = local_place()
    spec = _tiled(place, scene)
    key = tile_key(spec.plan.job_id, "0001_0001")
    path = Path(unquote(urlsplit(place.root).path)) / key
    before, data = path.stat(), bytearray(path.read_bytes())
    data[where] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    if mtime_is_kept:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(SceneMosaicError, match="0001_0001"):
        job.assemble(spec, job.Run("again", "again"))
    assert mosaic_key(spec.plan.job_id) not in place.versions()


def test_a_tile_that_was_replaced_on_s3(
    s3_place: MakePlace, scene: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = s3_place()
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    spec = _tiled(place, scene)
    parts = urlsplit(place.root)
    key = f"{parts.path.strip('/')}/{tile_key(spec.plan.job_id, '0001_0001')}"
    s3 = client(place, "s3")
    data = bytearray(s3.get_object(Bucket=parts.netloc, Key=key)["Body"].read())
    data[-100] ^= 1
    s3.put_object(Bucket=parts.netloc, Key=key, Body=bytes(data))
    with pytest.raises(SceneMosaicError, match="0001_0001"):
        job.assemble(spec, job.Run("again", "again"))
    assert mosaic_key(spec.plan.job_id) not in place.versions()


@pytest.mark.parametrize("left", [b"", b"II*\0 somebody else's", None])
def test_a_mosaic_that_is_not_ours_any_more_is_a_conflict(
    local_place: MakePlace, scene: Path, left: bytes | None
) -> None:
    place = local_place()
    spec = _tiled(place, scene)
    job.assemble(spec, job.Run("first", "first"))
    path = Path(unquote(urlsplit(place.root).path)) / mosaic_key(spec.plan.job_id)
    if left is None:
        left = path.read_bytes()[:-1000]
    path.write_bytes(left)
    with pytest.raises(ForeignObject, match=r"mosaic\.tif"):
        job.finished(spec)
    with pytest.raises(ForeignObject, match=r"mosaic\.tif"):
        job.assemble(spec, job.Run("again", "again"))
    assert path.read_bytes() == left


def test_a_mosaic_that_was_composed_wrongly_is_not_published(
    local_place: MakePlace, scene: Path
) -> None:
    place = local_place()
    spec = _tiled(place, scene)
    real = local_files.write_at

    def spoiled(descriptor: int, data: bytes | memoryview, position: int) -> None:
        """As a disk or a kernel may: after the CRC of what was read was compared."""
        flipped = bytearray(data)
        if len(flipped) > 10_000:
            flipped[::64] = bytes(byte ^ 1 for byte in flipped[::64])
        real(descriptor, flipped, position)

    with (
        mock.patch.object(local_files, "write_at", spoiled),
        pytest.raises(IncompleteError, match=r"mosaic\.tif.*nothing leads to it yet"),
    ):
        job.assemble(spec, job.Run("first", "first"))
    assert item_key(spec.plan.job_id) not in place.versions()
    with pytest.raises(IncompleteError, match="run verify --deep, then repair"):
        job.assemble(spec, job.Run("again", "again"))
    assert item_key(spec.plan.job_id) not in place.versions()
    report = Made(place, spec, scene).repair()
    assert report.error is None
    assert not verify(spec, deep=True).findings
