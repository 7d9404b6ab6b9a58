"""``preflight --policy``: one plain PUT beside the ledgers, and nothing of it left."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.cli import run
from scenemosaic import keys
from scenemosaic.errors import InputError
from scenemosaic.preflight.policy import PolicyFinding, check_policy
from scenemosaic.preflight.report import Verdict
from scenemosaic.stores import open_store
from scenemosaic.stores.port import PlainProbes, Probing, Store
from scenemosaic.waiting.retry import RetryPolicy, system_effects
from tests import servers
from tests.faults.proxy import Fault, Proxy, once
from tests.faults.wire import Request
from tests.stores.cloud_doors import gcs_bucket

TOKEN = "0123456789abcdef" * 2
QUICK = RetryPolicy(attempts=3, base_s=0.001, cap_s=0.002)
Open = Callable[[str], Store]


@pytest.fixture
def front(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy(ministack) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy


@pytest.fixture(params=[False, True], ids=["plain", "versioned"])
def bucket(request: pytest.FixtureRequest, ministack: str) -> str:
    return servers.make_bucket(ministack, versioned=request.param)


def is_plain_put(request: Request) -> bool:
    """A PUT that makes an object, and has no condition; parts of uploads take none."""
    conditions = {"if-match", "if-none-match"} & request.headers.keys()
    return request.method == "PUT" and not conditions and "partNumber" not in request.query


def by_policy(request: Request) -> Fault | None:
    """What a bucket with the printed policy answers."""
    return Fault.REFUSE_403 if is_plain_put(request) else None


def look(bucket: str) -> PolicyFinding:
    store = open_store(f"s3://{bucket}/some/root")
    try:
        return check_policy(store, TOKEN, QUICK, system_effects())
    finally:
        store.close()


def left_in(endpoint: str, bucket: str) -> list[Any]:
    listed = servers.aws_client("s3", endpoint).list_object_versions(Bucket=bucket)
    return [*listed.get("Versions", []), *listed.get("DeleteMarkers", [])]


def test_an_open_ledger_prefix_is_seen_and_left_clean(
    front: Proxy, ministack: str, bucket: str
) -> None:
    found = look(bucket)
    key = keys.ledger_probe_key(TOKEN)
    assert found.verdict is Verdict.IGNORED
    assert f"s3://{bucket}/some/root/{key}" in found.seen
    assert [seen.path for seen in front.requests if is_plain_put(seen)] == [
        f"/{bucket}/some/root/{key}"
    ]
    assert left_in(ministack, bucket) == []


def test_a_denied_put_is_what_is_wanted(front: Proxy, ministack: str, bucket: str) -> None:
    front.rule = by_policy
    found = look(bucket)
    assert found.verdict is Verdict.ENFORCED
    assert "AccessDenied" in found.seen
    assert left_in(ministack, bucket) == []


def test_a_put_that_landed_without_a_reply_is_taken_away(
    front: Proxy, ministack: str, bucket: str
) -> None:
    front.rule = once(Fault.RESET, is_plain_put)
    assert look(bucket).verdict is Verdict.IGNORED
    assert len([seen for seen in front.requests if is_plain_put(seen)]) == 2
    assert left_in(ministack, bucket) == []


def test_what_cannot_be_deleted_is_named(front: Proxy, ministack: str, bucket: str) -> None:
    front.rule = lambda request: Fault.REFUSE_403 if request.method == "DELETE" else None
    found = look(bucket)
    assert found.verdict is Verdict.IGNORED
    assert "it is still there" in found.seen
    (left,) = found.left
    (stands,) = left_in(ministack, bucket)
    assert left.uri.endswith(stands["Key"])
    assert (left.version_id or "null") == stands["VersionId"]


def test_no_answer_proves_nothing(front: Proxy, ministack: str, bucket: str) -> None:
    front.rule = lambda request: Fault.REFUSE_503 if is_plain_put(request) else None
    assert look(bucket).verdict is Verdict.UNTESTED
    assert left_in(ministack, bucket) == []


def test_other_stores_have_no_such_policy(
    tmp_path: Path, fake_gcs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", fake_gcs)
    for root in (str(tmp_path / "root"), f"gs://{gcs_bucket(fake_gcs)}/p"):
        store = open_store(root)
        found = check_policy(store, TOKEN, QUICK, system_effects())
        assert found.verdict is Verdict.NOT_OFFERED
        assert list(store.list("")) == []
        store.close()


@pytest.mark.parametrize(
    "key",
    [
        keys.ledger_key("daily"),
        keys.ledger_key(f"preflight-{TOKEN}"),
        f"ledger/preflight-{TOKEN[1:]}",
        f"ledger/preflight-{TOKEN}/x",
        f"x/ledger/preflight-{TOKEN}",
        keys.tile_key(TOKEN, "0000_0000"),
    ],
)
def test_the_raw_put_takes_no_other_key(front: Proxy, bucket: str, key: str) -> None:
    store = open_store(f"s3://{bucket}")
    assert isinstance(store, Probing)
    probes = store.probes()
    assert isinstance(probes, PlainProbes)
    for call in (lambda: probes.put_without_condition(key, b""), lambda: probes.delete(key)):
        with pytest.raises(InputError, match="nothing else is ever deleted"):
            call()
    assert front.requests == []


@pytest.mark.parametrize("rule", [None, by_policy], ids=["open", "denied"])
def test_the_command_warns_and_does_not_refuse(
    front: Proxy, ministack: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], rule: Any
) -> None:
    front.rule = rule or front.rule
    bucket = servers.make_bucket(ministack)
    arguments = ["preflight", f"s3://{bucket}", "--manifest", f"sqlite:///{tmp_path}/rows.db"]
    assert run([*arguments, "--rounds", "2", "--policy", "--json"]) == 0
    said = capfd.readouterr()
    value = json.loads(said.out)
    assert value["policy"]["verdict"] == ("enforced" if rule else "not enforced")
    assert ("scenemosaic policy ROOT" in said.err) is (rule is None)
    assert value["enforced"] is True
    assert left_in(ministack, bucket) == []


def test_without_the_option_no_plain_put_is_sent(
    front: Proxy, ministack: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bucket = servers.make_bucket(ministack)
    arguments = ["preflight", f"s3://{bucket}", "--manifest", f"sqlite:///{tmp_path}/rows.db"]
    assert run([*arguments, "--rounds", "2"]) == 0
    assert [seen for seen in front.requests if is_plain_put(seen)] == []
    assert "policy" not in capfd.readouterr().out
