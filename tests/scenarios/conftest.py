"""Every store on each server that can be trusted for it, behind a proxy that breaks promises."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from scenemosaic.stores import open_store
from scenemosaic.stores.port import Store
from tests import servers
from tests.faults.proxy import Proxy
from tests.faults.wire import Request
from tests.scenarios.stands import InProcess, OnTheWire, Stand
from tests.stores.cloud_doors import AzureDoor, GcsDoor, azure_container, gcs_bucket
from tests.stores.doors import LocalDoor, S3Door
from tests.stores.gcs_front import GcsFront

ALL = ("local", "s3-ministack", "s3-moto", "gcs", "azure")
ON_THE_WIRE = ALL[1:]
WITH_409 = ("local", "s3-ministack", "s3-moto", "gcs")
WITH_MULTIPART = ("s3-ministack", "s3-moto")


def _s3_completion(request: Request) -> bool:
    return request.method == "POST" and "uploadId=" in request.query


def _gcs_completion(request: Request) -> bool:
    start, _, total = request.headers.get("content-range", "").partition("/")
    sends = request.method == "PUT" and "upload_id=" in request.query
    return sends and start.endswith(f"-{int(total or 1) - 1}")


def _azure_completion(request: Request) -> bool:
    return request.method == "PUT" and "comp=blocklist" in request.query


@pytest.fixture
def make_stand(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Stand]]:
    """``make_stand("gcs")``: a store with an empty root of its own."""
    with ExitStack() as stack:

        def opened(variable: str, value: Callable[[str], str], url: str, to: str) -> Store:
            monkeypatch.setenv(variable, value(to))
            store = open_store(url)
            stack.callback(store.close)
            return store

        def wire(
            name: str,
            upstream: str,
            open_at: Callable[[str], Store],
            door: S3Door | GcsDoor | AzureDoor,
            is_completion: Callable[[Request], bool],
        ) -> Stand:
            direct = open_at(upstream)
            proxy = stack.enter_context(Proxy(upstream))
            faults = OnTheWire(proxy, is_completion)
            versioned = name != "azure"
            return Stand(name, open_at(proxy.url), direct, door, faults, versioned, proxy)

        def local() -> Stand:
            store = open_store(str(tmp_path / "root"))
            wrapped = InProcess(store)
            door = LocalDoor(tmp_path / "root")
            return Stand("local", wrapped, store, door, wrapped, versioned=False)  # type: ignore[arg-type]

        def s3(name: str) -> Stand:
            fixture = {"s3-ministack": "ministack", "s3-moto": "moto_server"}[name]
            endpoint = request.getfixturevalue(fixture)
            bucket = servers.make_bucket(endpoint, versioned=True)
            door = S3Door(servers.aws_client("s3", endpoint), bucket, "p/")

            def open_at(to: str) -> Store:
                return opened("AWS_ENDPOINT_URL_S3", str, f"s3://{bucket}/p", to)

            return wire(name, endpoint, open_at, door, _s3_completion)

        def gcs() -> Stand:
            endpoint = request.getfixturevalue("fake_gcs")
            front = GcsFront(endpoint)
            stack.enter_context(front.running())
            bucket = gcs_bucket(endpoint, versioned=True)
            door = GcsDoor(endpoint, bucket, "p/", front.open_sessions)

            def open_at(to: str) -> Store:
                return opened("STORAGE_EMULATOR_HOST", str, f"gs://{bucket}/p", to)

            return wire("gcs", front.url, open_at, door, _gcs_completion)

        def azure() -> Stand:
            endpoint = request.getfixturevalue("azurite")
            container = azure_container(endpoint)
            stack.enter_context(contextlib.closing(container))

            def open_at(to: str) -> Store:
                url = f"az://{container.container_name}/p"
                variable = "AZURE_STORAGE_CONNECTION_STRING"
                return opened(variable, servers.azurite_connection, url, to)

            return wire("azure", endpoint, open_at, AzureDoor(container, "p/"), _azure_completion)

        def make(name: str) -> Stand:
            kinds = {"local": local, "gcs": gcs, "azure": azure}
            return kinds[name]() if name in kinds else s3(name)

        yield make


def _on(names: tuple[str, ...]) -> object:
    @pytest.fixture(params=names)
    def stand(request: pytest.FixtureRequest, make_stand: Callable[[str], Stand]) -> Stand:
        return make_stand(request.param)

    return stand


stand = _on(ALL)
wired = _on(ON_THE_WIRE)
with_409 = _on(WITH_409)
with_multipart = _on(WITH_MULTIPART)
