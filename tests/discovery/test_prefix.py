"""Listing a folder, and a prefix of a bucket."""

import os
from pathlib import Path

import boto3
import pytest

from scenemosaic.discovery.prefix import below
from scenemosaic.errors import InputError, PermanentStoreError


def test_a_folder_s_scenes_in_order(tmp_path: Path) -> None:
    for name in ("b.tif", "a/c.TIFF", "a/d.jp2", "notes.txt", ".hidden.tif", ".git/x.tif"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    names = [Path(one.source).relative_to(tmp_path).as_posix() for one in below(str(tmp_path))]
    assert names == ["a/c.TIFF", "a/d.jp2", "b.tif"]


def test_a_replaced_file_has_another_version_and_a_moved_one_a_new_time(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    path.write_bytes(b"x")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    first = next(below(str(tmp_path)))
    assert not first.seen_at.startswith("2001")
    path.write_bytes(b"xy")
    assert next(below(str(tmp_path))).version != first.version


def test_what_is_no_file_is_refused_and_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.tif").write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe.tif")
    (tmp_path / "loop.tif").symlink_to("loop.tif")
    (tmp_path / "nowhere.tif").symlink_to("not there")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.tif")).write_bytes(b"x")
    found = {one.source.rpartition("/")[2]: one.refused for one in below(str(tmp_path))}
    assert found.pop("a.tif") is None
    assert "regular" in str(found.pop("pipe.tif"))
    assert found.pop("loop.tif")
    assert "UTF-8" in str(found.pop("\\xff.tif"))
    assert found == {}


@pytest.mark.parametrize("prefix", ["https://host/x", "/nowhere/at/all"])
def test_what_cannot_be_listed_is_refused(prefix: str) -> None:
    with pytest.raises(InputError, match="folder"):
        list(below(prefix))


def test_a_bucket_s_scenes_page_by_page(ministack: str) -> None:
    os.environ["AWS_ENDPOINT_URL"] = ministack
    client = boto3.client("s3")
    client.create_bucket(Bucket="found-here")
    for number in range(1003):
        client.put_object(Bucket="found-here", Key=f"in/{number:04}.tif", Body=b"x")
    client.put_object(Bucket="found-here", Key="in/readme.md", Body=b"x")
    client.put_object(Bucket="found-here", Key="out/0.tif", Body=b"x")
    found = list(below("s3://found-here/in/"))
    assert [one.source for one in found] == [f"s3://found-here/in/{n:04}.tif" for n in range(1003)]
    assert all(one.version and one.seen_at.endswith("Z") for one in found)


def test_a_bucket_that_is_not_there_is_a_store_error(ministack: str) -> None:
    os.environ["AWS_ENDPOINT_URL"] = ministack
    with pytest.raises(PermanentStoreError, match="s3://not-there-at-all/x"):
        list(below("s3://not-there-at-all/x"))
