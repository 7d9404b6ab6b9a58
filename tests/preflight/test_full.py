"""The full preflight on stores that keep their promise, and on faulty networks before them."""

import itertools
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scenemosaic import keys
from scenemosaic.committing.metrics import REFUSALS
from scenemosaic.errors import InputError, PermanentStoreError
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Manifest
from scenemosaic.preflight.full import MANIFEST_CHECKS, STORE_CHECKS, Effort, run_preflight
from scenemosaic.preflight.memory import Memory
from scenemosaic.preflight.quick import check_manifest
from scenemosaic.preflight.report import Verdict
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Store
from scenemosaic.waiting.retry import Effects, RetryPolicy
from tests import servers
from tests.faults.effects import FakeTime
from tests.preflight import pretenders
from tests.preflight.conftest import FAST, look, named, s3_door, sqlite_count
from tests.stores.azure_front import AzureFront
from tests.stores.cloud_doors import azure_container, gcs_bucket
from tests.stores.gcs_front import GcsFront

ALL = {name for name, *_ in (*STORE_CHECKS, *MANIFEST_CHECKS)}
VERSIONED = {"version-race", "deleted"}
LONG = {"insert-long-race"}  # of DynamoDB alone


def test_a_folder_and_sqlite(local_store: Store, sqlite_rows: Manifest, tmp_path: Path) -> None:
    report = look(local_store, sqlite_rows)
    assert report.error() is None
    assert named(report, Verdict.ENFORCED) == ALL - VERSIONED - LONG
    assert named(report, Verdict.NOT_OFFERED) == VERSIONED | LONG
    assert report.cleanup.left == ()
    assert list(local_store.list("")) == []
    hidden = (tmp_path / "root" / ".scenemosaic").rglob("*")
    assert {path.suffix for path in hidden if path.is_file()} == {".lock"}
    assert sqlite_count(sqlite_rows) == 0


@pytest.mark.parametrize("versioned", [False, True])
def test_s3_and_dynamodb(
    s3_store: Callable[[bool], Store], dynamo_rows: Manifest, ministack: str, versioned: bool
) -> None:
    store = s3_store(versioned)
    door = s3_door(store, ministack)
    door.write("preflight/theirs", b"not a probe of ours")
    report = look(store, dynamo_rows)
    assert report.error() is None
    assert named(report, Verdict.ENFORCED) == (ALL if versioned else ALL - VERSIONED)
    assert report.cleanup.left == ()
    listed = door.client.list_object_versions(Bucket=door.bucket)
    assert [found["Key"] for found in listed["Versions"]] == ["some/root/preflight/theirs"]
    assert "DeleteMarkers" not in listed
    assert door.open_uploads() == 0
    assert servers.aws_client("dynamodb", ministack).scan(
        TableName=dynamo_rows.url.removeprefix("dynamodb://"), ConsistentRead=True
    )["Items"] == []  # fmt: skip


def test_postgresql(local_store: Store, postgres_url: str) -> None:
    manifest = open_manifest(postgres_url)
    report = look(local_store, manifest)
    assert report.error() is None
    assert named(report, Verdict.ENFORCED) == ALL - VERSIONED - LONG
    assert report.cleanup.left == ()
    check_manifest(manifest, Memory(), RetryPolicy(), FakeTime().effects())
    assert list(manifest.windows([keys.PROBE_PARTITION])) == [keys.PROBE_ROW]
    manifest.close()


def test_every_version_is_recorded_before_it_goes(
    s3_store: Callable[[bool], Store],
    sqlite_rows: Manifest,
    ministack: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = s3_store(True)
    door = s3_door(store, ministack)
    with caplog.at_level(logging.INFO, logger="scenemosaic.preflight"):
        report = look(pretenders.DeniesDeletes(store), sqlite_rows)
    assert report.error() is None  # what is left behind is no reason to refuse the store
    listed = door.client.list_object_versions(Bucket=door.bucket, MaxKeys=1000)
    stands = {found["VersionId"] for found in listed["Versions"]}
    made = {one.version_id for one in report.cleanup.made if one.uri.startswith("s3:")}
    left = {one.version_id for one in report.cleanup.left}
    assert stands == made == left
    assert all(version in caplog.text for version in stands)
    assert "AccessDenied" in report.cleanup.why
    assert named(report, Verdict.UNTESTED) == {"deleted"}


def test_the_refusals_are_counted(local_store: Store, sqlite_rows: Manifest) -> None:
    report = look(local_store, sqlite_rows)
    by_name = {result.name: result.finding.refusals for result in report.results}
    # One winner a race, everybody else is refused.
    assert by_name["create-race"] == FAST.rounds * (FAST.threads - 1)
    assert by_name["insert"] == 1
    assert report.counters == {REFUSALS: sum(by_name.values())}


@pytest.fixture
def gcs(fake_gcs: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], Store]]:
    front = GcsFront(fake_gcs)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", front.url)
    with front.running():
        yield lambda versioned: open_store(f"gs://{gcs_bucket(fake_gcs, versioned=versioned)}/p")


@pytest.mark.parametrize("versioned", [False, True])
def test_cloud_storage(
    gcs: Callable[[bool], Store], sqlite_rows: Manifest, versioned: bool
) -> None:
    report = look(gcs(versioned), sqlite_rows)
    assert report.error() is None
    assert named(report, Verdict.ENFORCED) == (ALL if versioned else ALL - VERSIONED) - LONG
    # fake-gcs-server deletes no former generation: it must be said that they are left.
    assert bool(report.cleanup.left) == versioned


def test_azure(azurite: str, sqlite_rows: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    front = AzureFront(azurite)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", servers.azurite_connection(front.url))
    container = azure_container(azurite)
    with front.running():
        report = look(open_store(f"az://{container.container_name}/p"), sqlite_rows)
    assert report.error() is None
    assert named(report, Verdict.ENFORCED) == ALL - VERSIONED - LONG
    assert list(container.list_blobs()) == []


@pytest.mark.parametrize("faulty", [pretenders.LosesReplies, pretenders.Conflicts])
def test_a_bad_network_is_no_reason_to_accuse_a_store(
    faulty: type[pretenders.Probed], local_store: Store, sqlite_rows: Manifest
) -> None:
    store = faulty(local_store)
    report = run_preflight(store, sqlite_rows, FAST, FakeTime(chance=0.0).effects())
    assert named(report, Verdict.IGNORED) == set()
    assert report.error() is None
    assert report.cleanup.left == ()
    assert list(local_store.list("")) == []


def test_what_is_not_offered(local_store: Store, sqlite_rows: Manifest) -> None:
    report = look(pretenders.HasNoMatch(local_store), sqlite_rows)
    missing = {"match-stale", "match-absent", "match-race", "complete-match"}
    assert named(report, Verdict.NOT_OFFERED) == {*missing, *VERSIONED, *LONG}
    assert report.error() is None


def test_what_every_job_needs_must_be_offered(local_store: Store, sqlite_rows: Manifest) -> None:
    error = look(pretenders.HasNoParts(local_store), sqlite_rows).error()
    assert error is not None
    assert (error.kind, error.exit_code) == ("preconditions-unproven", 5)
    assert "racing completions" in str(error)


def test_a_deadline_leaves_checks_untested_and_nothing_behind(
    local_store: Store, sqlite_rows: Manifest
) -> None:
    ticks = itertools.count()
    effects = Effects(lambda: float(next(ticks)), lambda _: None, lambda: 0.0)
    report = run_preflight(local_store, sqlite_rows, Effort(8, 6, 60.0), effects)
    untested = named(report, Verdict.UNTESTED)
    assert {"insert", "insert-race"} <= untested < ALL
    error = report.error()
    assert error is not None
    assert error.kind == "preconditions-unproven"
    assert "deadline" in str(error)
    assert list(local_store.list("")) == []


def test_progress_only_grows(local_store: Store, sqlite_rows: Manifest) -> None:
    told: list[tuple[str, float]] = []
    run_preflight(
        local_store, sqlite_rows, FAST, progress=lambda title, share: told.append((title, share))
    )
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert {title.partition(":")[0] for title, _ in told} == {"store", "manifest", "done"}


def test_where_nothing_can_be_written_the_reason_is_told(
    ministack: str, sqlite_rows: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack)
    with pytest.raises(PermanentStoreError, match="NoSuchBucket"):
        look(open_store("s3://sm-no-such-bucket/p"), sqlite_rows)


def test_its_keys_come_from_the_token(local_store: Store, sqlite_rows: Manifest) -> None:
    report = run_preflight(local_store, sqlite_rows, FAST, token=lambda: "0f" * 16)
    prefix = local_store.object_uri(keys.probe_prefix("0f" * 16).rstrip("/"))
    files = [one.uri for one in report.cleanup.made if one.uri.startswith("file:")]
    assert files
    assert all(uri.startswith(f"{prefix}/") for uri in files)


def test_an_effort_must_be_one() -> None:
    for effort in ({"threads": 1}, {"rounds": 0}, {"deadline_s": 0.0}):
        with pytest.raises(InputError):
            Effort(**effort)  # type: ignore[arg-type]
