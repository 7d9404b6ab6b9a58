"""Every adapter, on every server that it can be tested on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scenemosaic.stores import open_store
from tests import servers
from tests.stores.doors import Harness, LocalDoor, S3Door
from tests.stores.patient import Patient

ADAPTERS = ("local", "s3-ministack", "s3-ministack-versioned", "s3-moto-versioned")
MOTO_DEFECTS = frozenset({"complete-if-match", "complete-not-atomic", "copy-pin"})
# What has no pages, or has the same ones as another.
FEW = 105
PREFIX = "a prefix/ü+%"


@pytest.fixture
def make_harness(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Harness]:
    """``make_harness("s3-ministack")``: an adapter with an empty root of its own."""

    def make(name: str) -> Harness:
        if name == "local":
            root = tmp_path / "root"
            return Harness(open_store(str(root)), LocalDoor(root), race_rounds=20, listed=FEW)
        kind, _, versions = name.removeprefix("s3-").partition("-")
        endpoint = request.getfixturevalue({"moto": "moto_server"}.get(kind, kind))
        bucket = servers.make_bucket(endpoint, versioned=bool(versions))
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
        return Harness(
            Patient(open_store(f"s3://{bucket}/{PREFIX}")),
            S3Door(servers.aws_client("s3", endpoint), bucket, f"{PREFIX}/"),
            versioned=bool(versions),
            defects=MOTO_DEFECTS if kind == "moto" else frozenset(),
            listed=Harness.listed if name == "s3-ministack-versioned" else FEW,
        )

    return make


@pytest.fixture(params=ADAPTERS)
def harness(request: pytest.FixtureRequest, make_harness: Callable[[str], Harness]) -> Harness:
    return make_harness(request.param)
