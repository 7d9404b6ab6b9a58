"""Listing a folder, and a prefix of a bucket."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from scenemosaic.discovery import s3_prefix as listing
from scenemosaic.discovery.prefix import below
from scenemosaic.errors import InputError, PermanentStoreError, TransientStoreError
from scenemosaic.waiting.retry import RetryPolicy
from tests import servers
from tests.faults.effects import FakeTime
from tests.faults.proxy import Fault, Proxy, Request


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


def test_hidden_folders_of_a_bucket_are_passed_over_as_those_of_a_disk_are(ministack: str) -> None:
    os.environ["AWS_ENDPOINT_URL"] = ministack
    client = boto3.client("s3")
    client.create_bucket(Bucket="in-hidden")
    for name in ("a.tif", ".staging/b.tif", "sub/.tmp/c.tif", "sub/.d.tif", "sub/e.tif"):
        client.put_object(Bucket="in-hidden", Key=f".in/{name}", Body=b"x")
    found = [one.source for one in below("s3://in-hidden/.in/")]
    assert found == [f"s3://in-hidden/.in/{name}" for name in ("a.tif", "sub/e.tif")]


def test_a_key_that_no_plan_holds_is_refused_and_stops_no_other(ministack: str) -> None:
    os.environ["AWS_ENDPOINT_URL"] = ministack
    client = boto3.client("s3")
    client.create_bucket(Bucket="in-tabs")
    for name in ("a\tb.tif", "c.tif"):
        client.put_object(Bucket="in-tabs", Key=f"in/{name}", Body=b"x")
    found = {one.source: one.refused for one in below("s3://in-tabs/in/")}
    assert found.pop("s3://in-tabs/in/c.tif") is None
    assert "in/a\\tb.tif: a key with a tab" in str(found.pop("s3://in-tabs/in/a\\tb.tif"))
    assert found == {}


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


POLICY = RetryPolicy(attempts=3)


@pytest.fixture
def pages(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A bucket of two pages behind a proxy, which is asked once for each attempt of ours."""
    client = boto3.client("s3", endpoint_url=ministack)
    client.create_bucket(Bucket="in-pages")
    for number in range(4):
        client.put_object(Bucket="in-pages", Key=f"in/{number}.tif", Body=b"x")
    with Proxy(ministack) as proxy:
        monkeypatch.setattr(listing, "s3_client", lambda: Paged(proxy.url))
        yield proxy


class Paged:
    """Two objects a page, and no attempts of the client's own."""

    def __init__(self, url: str) -> None:
        config = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
        self._client = boto3.client("s3", endpoint_url=url, config=config)

    def list_objects_v2(self, **request: Any) -> Any:
        return self._client.list_objects_v2(**request, MaxKeys=2)


def names(time: FakeTime) -> list[str]:
    return [one.source[-5:] for one in below("s3://in-pages/in/", POLICY, time.effects())]


EVERY = [f"{number}.tif" for number in range(4)]


@pytest.mark.parametrize("fault", [Fault.REFUSE_503, Fault.ANSWER_500, Fault.RESET])
@pytest.mark.parametrize("page", [0, 1])
def test_a_page_that_fails_is_asked_for_again_and_no_other(
    pages: Proxy, fault: Fault, page: int
) -> None:
    asked: list[Request] = []

    def rule(request: Request) -> Fault | None:
        asked.append(request)
        return fault if len(asked) in (page + 1, page + 2) else None

    pages.rule = rule
    time = FakeTime()
    assert names(time) == EVERY
    assert (len(asked), len(time.sleeps)) == (4, 2)


def test_a_store_that_is_away_is_waited_for(pages: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    with servers.closed_port() as port:
        away, back = Paged(f"http://127.0.0.1:{port}"), Paged(pages.url)
        clients = iter([away, away])
        monkeypatch.setattr(listing, "s3_client", lambda: next(clients, back))
        assert names(FakeTime()) == EVERY
        monkeypatch.setattr(listing, "s3_client", lambda: away)
        time = FakeTime()
        with pytest.raises(TransientStoreError, match="s3://in-pages/in/ cannot be listed"):
            names(time)
    assert len(time.sleeps) == POLICY.attempts - 1


def test_a_refusal_is_final(pages: Proxy) -> None:
    pages.rule = lambda request: Fault.REFUSE_403
    time = FakeTime()
    with pytest.raises(PermanentStoreError, match="403 AccessDenied"):
        names(time)
    assert (len(pages.requests), time.sleeps) == (1, [])
