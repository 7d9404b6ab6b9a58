"""Real services that only pretend, each refused by the name of what it ignores."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenemosaic.errors import PreconditionsIgnored
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Manifest
from scenemosaic.preflight.full import Effort
from scenemosaic.preflight.report import Report, Verdict
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Store
from tests import servers
from tests.preflight import services
from tests.preflight.conftest import look, named
from tests.stores.cloud_doors import gcs_bucket

CREATES = {"create", "create-race"}
MATCHES = {"match-stale", "match-absent", "match-race"}
COMPLETIONS = {"complete", "complete-match", "complete-race"}


@pytest.fixture
def rclone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that rclone serves as a bucket."""
    with servers.running(services.start_rclone(tmp_path / "rclone")) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        yield tmp_path / "rclone" / "data" / services.BUCKET


@pytest.fixture(scope="module")
def plain_moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("moto")
    with servers.running(servers.start_moto(folder, as_it_comes=True)) as server:
        yield server.url


@pytest.fixture
def moto_rows(
    plain_moto: str, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Manifest]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", plain_moto)
    manifest = open_manifest(f"dynamodb://{table_name}")
    yield manifest
    manifest.close()


def check_refused(report: Report, ignored: set[str]) -> None:
    assert named(report, Verdict.IGNORED) == ignored
    assert isinstance(report.error(), PreconditionsIgnored)


def test_rclone_ignores_conditions(rclone: Path, sqlite_rows: Manifest) -> None:
    report = look(open_store(f"s3://{services.BUCKET}/some/root"), sqlite_rows)
    check_refused(report, CREATES | MATCHES)
    # It copies no parts either.
    assert named(report, Verdict.NOT_OFFERED) >= COMPLETIONS
    assert report.cleanup.left == ()
    assert [path for path in rclone.rglob("*") if path.is_file()] == []


def test_gcp_storage_emulator_ignores_conditions(
    gcp_storage_emulator: str, sqlite_rows: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcp_storage_emulator)
    report = look(open_store(f"gs://{gcs_bucket(gcp_storage_emulator)}/p"), sqlite_rows)
    check_refused(report, CREATES | MATCHES | COMPLETIONS)


def test_fake_gcs_server_ignores_the_conditions_of_sessions(
    fake_gcs: str, sqlite_rows: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", fake_gcs)
    bucket = gcs_bucket(fake_gcs, versioned=False)
    check_refused(look(open_store(f"gs://{bucket}/p"), sqlite_rows), COMPLETIONS)


@pytest.mark.parametrize("versioned", [False, True])
def test_moto_completes_without_looking(
    moto_server: str, sqlite_rows: Manifest, monkeypatch: pytest.MonkeyPatch, versioned: bool
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto_server)
    bucket = servers.make_bucket(moto_server, versioned=versioned)
    report = look(open_store(f"s3://{bucket}/p"), sqlite_rows)
    ignored = named(report, Verdict.IGNORED)
    # Whether its look and its completion come apart in a race is luck.
    assert ignored - {"complete-race"} == {"complete-match"}
    assert isinstance(report.error(), PreconditionsIgnored)
    assert "large If-Match at completion" in str(report.error())


def test_moto_looks_at_rows_before_it_writes_them(moto_rows: Manifest, local_store: Store) -> None:
    """moto_server as it comes, and preflight's defaults.

    Half of the races with a long condition come apart: of 10^9 runs one sees none of 40.
    """
    report = look(local_store, moto_rows, Effort())
    ignored = named(report, Verdict.IGNORED)
    # With the usual short condition a switch of moto's threads seldom falls in between.
    assert ignored - {"insert-race", "replace-race"} == {"insert-long-race"}
    assert isinstance(report.error(), PreconditionsIgnored)
    assert moto_rows.url in str(report.error())
    assert "were told that they had won" in str(report.error())
