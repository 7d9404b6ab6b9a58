"""``scenemosaic gc``: lists what was abandoned, ends it when told to, and a living upload never."""

import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flows import cli
from scenemosaic import gc, keys
from scenemosaic.claiming.claims import ClaimName, Claims, ClaimSettings
from scenemosaic.claiming.held import Held
from scenemosaic.errors import PermanentStoreError
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Manifest
from scenemosaic.stores import open_store
from scenemosaic.waiting.retry import Effects, RetryPolicy
from tests import servers
from tests.faults.effects import FakeTime
from tests.faults.proxy import Fault, Proxy

JOB = "0123456789abcdef" * 2
KEY = keys.mosaic_key(JOB)
POLICY = RetryPolicy(attempts=2, base_s=0.01)


@dataclasses.dataclass(frozen=True)
class Place:
    root: str
    manifest: str
    client: Any

    def begin(self, key: str = KEY) -> str:
        bucket, _, prefix = self.root.removeprefix("s3://").partition("/")
        made = self.client.create_multipart_upload(Bucket=bucket, Key=f"{prefix}/{key}")
        return str(made["UploadId"])

    def open(self) -> list[str]:
        bucket = self.root.removeprefix("s3://").partition("/")[0]
        found = self.client.list_multipart_uploads(Bucket=bucket)
        return [one["UploadId"] for one in found.get("Uploads", ())]

    def hold(self, rows: Manifest, effects: Effects) -> Held:
        name = ClaimName(keys.claim_partition(JOB, self.root), keys.ASSEMBLY_CLAIM, "uri")
        claims = Claims(rows, ClaimSettings(30.0), POLICY, effects, lambda: "now")
        return Held(claims, claims.take(name, "run-1")[0], fresh=True)


@pytest.fixture
def place(ministack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack)
    bucket = servers.make_bucket(ministack)
    client = servers.aws_client("s3", ministack)
    return Place(f"s3://{bucket}/p", f"sqlite:///{tmp_path}/manifest.db", client)


@pytest.fixture
def rows(place: Place) -> Iterator[Manifest]:
    manifest = open_manifest(place.manifest)
    manifest.ensure()
    yield manifest
    manifest.close()


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = cli.run(["gc", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_lists_and_ends_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    upload = place.begin()
    code, said = run(place.root, "--older-than", "0s", capsys=capsys)
    assert code == 0
    [found] = said["uploads"]
    assert (found["key"], found["upload_id"], found["outcome"]) == (KEY, upload, "abandoned")
    assert (said["ended"], said["abort"], said["note"]) == (0, False, None)
    assert place.open() == [upload]


def test_what_is_young_is_left_alone(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    upload = place.begin()
    for older in ([], ["--older-than", "1h"]):
        code, said = run(place.root, "--abort", *older, capsys=capsys)
        assert (code, said["uploads"]) == (0, [])
    assert said["older_than_s"] == 3600
    assert place.open() == [upload]


def test_ends_what_was_abandoned(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.begin()
    place.begin(f"tiles/{JOB}/0000_0000.tif")
    options = (place.root, "--abort", "--older-than", "0s", "--manifest", place.manifest)
    code, said = run(*options, capsys=capsys)
    assert (code, said["ended"]) == (0, 2)
    assert [one["outcome"] for one in said["uploads"]] == ["ended", "ended"]
    assert place.open() == []
    assert run(*options, capsys=capsys)[1]["uploads"] == []


@pytest.mark.parametrize("key", [f"inner/{KEY}", "tiles/other.tif", "backup/db.dump"])
def test_what_others_write_below_a_root_is_left_alone(
    place: Place, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    """Of a root within it, whose claims lie elsewhere, and of other programs."""
    upload = place.begin(key)
    code, said = run(place.root, "--abort", "--older-than", "0s", capsys=capsys)
    assert (code, said["uploads"]) == (0, [])
    assert place.open() == [upload]


def _end_all(place: Place, rows: Manifest, effects: Effects) -> dict[str, str]:
    store = open_store(place.root)
    found = gc.abandoned(store, 0, POLICY, effects)
    assert found is not None
    done = gc.end_all(store, found, lambda: rows, POLICY, effects)
    return {one.upload.upload_id: one.fate for one in done}


@pytest.mark.parametrize("beats", [True, False])
def test_a_living_claim_keeps_its_upload_and_no_other(
    place: Place, rows: Manifest, beats: bool
) -> None:
    """The same claim, once renewed while gc looks on and once silent."""
    mine, other = place.begin(), place.begin()
    held = place.hold(rows, FakeTime().effects())
    held.record(mine)
    pauses: list[float] = []

    def sleep(pause_s: float) -> None:
        pauses.append(pause_s)
        if beats:
            held.renew()

    fates = _end_all(place, rows, Effects(time.monotonic, sleep, lambda: 1.0))
    assert fates == {mine: "in-use" if beats else "ended", other: "ended"}
    assert pauses == [30.0]
    assert place.open() == ([mine] if beats else [])


def test_no_claim_no_waiting(place: Place, rows: Manifest) -> None:
    place.begin()
    time_ = FakeTime()
    assert list(_end_all(place, rows, time_.effects()).values()) == ["ended"]
    assert time_.sleeps == []


def test_an_upload_that_ended_meanwhile_is_gone(place: Place, rows: Manifest) -> None:
    store: Any = open_store(place.root)
    upload, effects = place.begin(), FakeTime().effects()
    found = gc.abandoned(store, 0, POLICY, effects)
    store.end(KEY, upload)
    [done] = gc.end_all(store, found or [], lambda: rows, POLICY, effects)
    assert done.fate == "gone"


def test_one_that_cannot_be_ended_is_told_and_the_others_end(
    place: Place, rows: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = place.begin(), place.begin()
    store: Any = open_store(place.root)
    real: Callable[[str, str], bool] = store.end

    def end(key: str, upload_id: str) -> bool:
        if upload_id == first:
            raise PermanentStoreError("AccessDenied")
        return real(key, upload_id)

    monkeypatch.setattr(store, "end", end)
    found = gc.abandoned(store, 0, POLICY, FakeTime().effects())
    done = gc.end_all(store, found or [], lambda: rows, POLICY, FakeTime().effects())
    assert {one.upload.upload_id: one.fate for one in done} == {first: "failed", second: "ended"}


def test_a_fault_that_outlasts_its_retries_is_exit_5(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    upload = place.begin()
    monkeypatch.setattr("time.sleep", lambda pause_s: None)
    with Proxy(os.environ["AWS_ENDPOINT_URL"]) as proxy:
        proxy.rule = lambda seen: Fault.REFUSE_503 if seen.method == "DELETE" else None
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        options = ("--abort", "--older-than", "0s", "--manifest", place.manifest)
        code, said = run(place.root, *options, capsys=capsys)
    assert (code, said["exit_code"], said["error"]["kind"]) == (5, 5, "store")
    assert said["uploads"][0]["outcome"] == "failed"
    assert place.open() == [upload]


def test_no_bucket_is_exit_5(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run("s3://no-such-bucket-here/p", capsys=capsys)
    assert code == 5
    assert "NoSuchBucket" in said["error"]["message"]


@pytest.mark.parametrize("age", ["7", "d", "", "-1d", "1.5h", "7 d", "soon"])
def test_no_age_is_exit_2(age: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = run("s3://bucket/p", "--older-than", age, capsys=capsys)
    assert code == 2
    assert "no age such as 7d" in said["error"]["message"]


@pytest.mark.parametrize(("root", "word"), [("gs://bucket/p", "week"), ("az://box/p", "week")])
def test_where_nothing_stays_it_says_so(
    root: str, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:1")
    monkeypatch.setenv(
        "AZURE_STORAGE_CONNECTION_STRING", servers.azurite_connection("http://127.0.0.1:1")
    )
    code, said = run(root, "--abort", capsys=capsys)
    assert (code, said["uploads"]) == (0, [])
    assert word in said["note"]


def test_hidden_files_of_a_local_root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hidden = tmp_path / ".scenemosaic" / "tmp"
    hidden.mkdir(parents=True)
    for name, age_s in (("old.tmp", 8 * 86400), ("new.tmp", 60)):
        (hidden / name).write_bytes(b"x")
        os.utime(hidden / name, (time.time() - age_s,) * 2)
    code, said = run(str(tmp_path), capsys=capsys)
    assert (code, [one["upload_id"] for one in said["uploads"]]) == (0, ["old.tmp"])
    code, said = run(str(tmp_path), "--abort", capsys=capsys)
    assert (code, said["ended"]) == (0, 1)
    assert [path.name for path in hidden.iterdir()] == ["new.tmp"]


def test_people_read_a_table(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["gc", place.root]) == 0
    said = capsys.readouterr().out
    assert "no upload under s3://" in said
    assert "nothing was abandoned" in said
    upload = place.begin()
    assert cli.run(["gc", place.root, "--older-than", "0m"]) == 0
    said = capsys.readouterr().out
    assert KEY in said
    assert upload in said
    assert "--abort ends them" in said
