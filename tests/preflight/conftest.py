"""Roots and manifests to look at, and a look at what a preflight left behind."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Manifest
from scenemosaic.preflight.full import Effort, run_preflight
from scenemosaic.preflight.report import Report, Verdict
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Store
from tests import servers
from tests.stores.doors import S3Door

FAST = Effort(threads=8, rounds=6)


@pytest.fixture
def local_store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "root"))


@pytest.fixture
def sqlite_rows(tmp_path: Path) -> Iterator[Manifest]:
    manifest = open_manifest(f"sqlite:///{tmp_path / 'manifest.db'}")
    yield manifest
    manifest.close()


@pytest.fixture
def s3_store(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], Store]]:
    """``s3_store(versioned)``: a store in a bucket of its own."""
    opened: list[Store] = []
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack)

    def make(versioned: bool) -> Store:
        bucket = servers.make_bucket(ministack, versioned=versioned)
        opened.append(open_store(f"s3://{bucket}/some/root"))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def dynamo_rows(
    ministack: str, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Manifest]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack)
    manifest = open_manifest(f"dynamodb://{table_name}")
    yield manifest
    manifest.close()


def look(store: Store, manifest: Manifest, effort: Effort = FAST) -> Report:
    return run_preflight(store, manifest, effort)


def named(report: Report, verdict: Verdict) -> set[str]:
    """The checks that came to a verdict."""
    return {result.name for result in report.results if result.verdict is verdict}


def s3_door(store: Store, endpoint: str) -> S3Door:
    bucket, _, prefix = store.uri.removeprefix("s3://").partition("/")
    return S3Door(servers.aws_client("s3", endpoint), bucket, f"{prefix}/")


def sqlite_count(manifest: Manifest) -> int:
    file = manifest.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(file)) as database:
        return int(database.execute("SELECT count(*) FROM manifest_rows").fetchone()[0])
