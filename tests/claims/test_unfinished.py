"""What dead writers leave in a store: listed with its age, ended one by one, never a living one."""

import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from scenemosaic.errors import PermanentStoreError
from scenemosaic.stores import open_store
from scenemosaic.stores.local_scratch import scratch_file
from scenemosaic.stores.port import Announces, Answer, Collects, IfAbsent, Literal, Unfinished
from tests import servers
from tests.stores.conformance import MIB, MOSAIC
from tests.stores.doors import Harness, S3Door

PREFIX = "a prefix/ü+%"
PARTS = [Literal(b"a" * (6 * MIB)), Literal(b"b" * (12 * MIB))]


@dataclasses.dataclass(frozen=True)
class Bucket:
    harness: Harness
    client: Any
    bucket: str

    @property
    def store(self) -> Any:
        return self.harness.store

    def begin(self, key: str, prefix: str = f"{PREFIX}/") -> str:
        made = self.client.create_multipart_upload(Bucket=self.bucket, Key=prefix + key)
        return str(made["UploadId"])


@pytest.fixture(params=["ministack", "moto_server"])
def s3(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    endpoint = request.getfixturevalue(request.param)
    bucket = servers.make_bucket(endpoint)
    client = servers.aws_client("s3", endpoint)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    store = open_store(f"s3://{bucket}/{PREFIX}")
    yield Bucket(Harness(store, S3Door(client, bucket, f"{PREFIX}/")), client, bucket)
    store.close()


def test_who_can_do_what(tmp_path: Path) -> None:
    local, s3 = open_store(str(tmp_path)), open_store("s3://some-bucket/p")
    assert isinstance(local, Collects)
    assert not isinstance(local, Announces)
    assert isinstance(s3, Collects)
    assert isinstance(s3, Announces)


@pytest.mark.parametrize("root", ["gs://bucket/p", "az://container/p"])
def test_stores_that_end_writes_by_themselves(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:1")
    monkeypatch.setenv(
        "AZURE_STORAGE_CONNECTION_STRING", servers.azurite_connection("http://127.0.0.1:1")
    )
    store = open_store(root)
    assert not isinstance(store, Collects)
    assert not isinstance(store, Announces)


def test_uploads_under_the_root_and_no_others(s3: Bucket) -> None:
    ours = {(MOSAIC, s3.begin(MOSAIC)), ("tiles/é 1.tif", s3.begin("tiles/é 1.tif"))}
    s3.begin(MOSAIC, prefix="")
    s3.begin(MOSAIC, prefix=f"{PREFIX}x/")
    found = list(s3.store.unfinished())
    assert {(one.key, one.upload_id) for one in found} == ours
    assert [one.key for one in s3.store.unfinished("mosaics/")] == [MOSAIC]
    assert list(s3.store.unfinished("nothing/")) == []


# moto's uploads all began in 2010, it lists all of them on one page, and it answers a part of no
# upload with 500.
only_ministack = pytest.mark.parametrize("s3", ["ministack"], indirect=True)


@only_ministack
def test_an_age_grows(s3: Bucket) -> None:
    s3.begin(MOSAIC)
    [young] = s3.store.unfinished()
    time.sleep(2.1)  # Initiated has a resolution of one second.
    [old] = s3.store.unfinished()
    assert 0 <= young.age_s < 60
    assert 1 <= old.age_s - young.age_s < 60


@only_ministack
def test_uploads_beyond_one_page(s3: Bucket) -> None:
    keys = [f"mosaics/{number:04d}.tif" for number in range(1005)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(s3.begin, keys))
    found = [one.key for one in s3.store.unfinished()]
    assert len(found) == 1005
    assert sorted(found) == keys


def test_an_upload_is_ended_once(s3: Bucket) -> None:
    first, second = s3.begin(MOSAIC), s3.begin(MOSAIC)
    assert s3.store.end(MOSAIC, first) is True
    assert s3.store.end(MOSAIC, first) is False
    assert [one.upload_id for one in s3.store.unfinished()] == [second]
    assert s3.store.end(MOSAIC, "no-such-upload") is False


def test_an_upload_is_announced_before_its_first_part(s3: Bucket) -> None:
    told: list[list[Unfinished]] = []
    parts: list[int] = []

    def begun(upload_id: str) -> None:
        told.append([one for one in s3.store.unfinished() if one.upload_id == upload_id])
        listed = s3.client.list_parts(
            Bucket=s3.bucket, Key=f"{PREFIX}/{MOSAIC}", UploadId=upload_id
        )
        parts.append(len(listed.get("Parts", ())))

    store = s3.store.announcing(begun)
    answer = store.compose(MOSAIC, PARTS, IfAbsent(), "image/tiff", {"write_id": "w"})
    assert answer.answer is Answer.WRITTEN
    assert [[one.key for one in each] for each in told] == [[MOSAIC]]
    assert parts == [0]
    assert list(s3.store.unfinished()) == []
    s3.store.compose("mosaics/b.tif", PARTS, IfAbsent(), "image/tiff", {"write_id": "w"})
    assert len(told) == 1, "only the announcing store tells"


def test_a_single_request_announces_nothing(s3: Bucket) -> None:
    store = s3.store.announcing(lambda upload_id: pytest.fail("no upload was begun"))
    answer = store.compose(MOSAIC, [Literal(b"small")], IfAbsent(), "image/tiff", {})
    assert answer.answer is Answer.WRITTEN


def test_what_is_raised_when_told_ends_the_upload(s3: Bucket) -> None:
    def begun(upload_id: str) -> None:
        raise PermanentStoreError("the claim is gone")

    with pytest.raises(PermanentStoreError, match="the claim is gone"):
        s3.store.announcing(begun).compose(MOSAIC, PARTS, IfAbsent(), "image/tiff", {})
    assert list(s3.store.unfinished()) == []
    assert s3.store.head(MOSAIC) is None


@only_ministack
def test_an_upload_ended_by_another_is_a_race_not_a_fault(s3: Bucket) -> None:
    answer = s3.store.announcing(lambda upload_id: s3.store.end(MOSAIC, upload_id)).compose(
        MOSAIC, PARTS, IfAbsent(), "image/tiff", {}
    )
    assert answer.answer is Answer.RACING
    assert s3.store.head(MOSAIC) is None
    assert list(s3.store.unfinished()) == []


HOLDER = """
import sys, time
from pathlib import Path
from scenemosaic.stores.local_scratch import scratch_file
with scratch_file(Path(sys.argv[1]), "living"):
    print("open", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    return tmp_path / ".scenemosaic" / "tmp"


@pytest.fixture
def holding(hidden: Path) -> Iterator[Callable[[], None]]:
    """A process that has a hidden file open; calling it kills the process."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(hidden)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"

    def kill() -> None:
        process.kill()
        process.wait(30)

    yield kill
    kill()
    process.stdout.close()


def test_hidden_files_of_the_dead_and_never_of_the_living(
    tmp_path: Path, hidden: Path, holding: Callable[[], None]
) -> None:
    store: Any = open_store(str(tmp_path))
    assert list(store.unfinished()) == []
    assert store.end("any", "living.tmp") is False
    assert (hidden / "living.tmp").exists()
    holding()
    os.utime(hidden / "living.tmp", (time.time() - 5000,) * 2)
    (hidden / "lone.json").write_text("{}")
    found = list(store.unfinished())
    assert [(one.key, one.upload_id) for one in found] == [
        (".scenemosaic/tmp/living.tmp", "living.tmp"),
        (".scenemosaic/tmp/lone.json", "lone.json"),
    ]
    assert 4990 < found[0].age_s < 5300
    assert [store.end(one.key, one.upload_id) for one in found] == [True, True]
    assert list(hidden.iterdir()) == []
    assert store.end(found[0].key, found[0].upload_id) is False


def test_a_living_writers_metadata_is_spared_as_well(tmp_path: Path, hidden: Path) -> None:
    store: Any = open_store(str(tmp_path))
    with scratch_file(hidden, "ours"):
        (hidden / "ours.json").write_text("{}")
        assert list(store.unfinished()) == []
        assert store.end("any", "ours.json") is False
    assert list(hidden.iterdir()) == []


def test_an_id_never_leaves_the_hidden_folder(tmp_path: Path, hidden: Path) -> None:
    hidden.mkdir(parents=True)
    (tmp_path / "mosaic.tif").write_bytes(b"x")
    store: Any = open_store(str(tmp_path))
    assert store.end("mosaic.tif", "../../mosaic.tif") is False
    assert (tmp_path / "mosaic.tif").exists()
