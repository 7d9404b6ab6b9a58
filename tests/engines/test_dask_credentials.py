"""Credentials and a Dask cluster: each worker has its own, or a block's; none crosses."""

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import cloudpickle
import pytest
from distributed import Client
from prefect_aws import AwsCredentials
from pydantic import SecretStr

from blocks import SceneStore, TileManifest
from blocks.mosaic_recipe import RecipeFields
from flows.process import process_scene
from flows.reports.scene import ProcessReport
from tests import servers
from tests.faults.proxy import Fault, Proxy
from tests.faults.wire import Request
from tests.flows import canaries
from tests.flows.canaries import SECRETS
from tests.flows.scenes import BLOCK, WINDOW

pytestmark = [pytest.mark.usefixtures("api"), pytest.mark.slow]
RECIPE = RecipeFields(window=WINDOW, block_size=BLOCK)
FLOW, WORKER, SAVED = "AKIDOFTHEFLOW", "AKIDOFTHEWORKER", "AKIDOFTHEBLOCK"


@pytest.fixture
def proxy(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """The stores, as this process reaches them with keys of its own."""
    with Proxy(ministack) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", FLOW)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRETS["key"])
        yield proxy


@pytest.fixture
def root(ministack: str) -> str:
    bucket = f"dask-{uuid4().hex}"
    servers.aws_client("s3", ministack).create_bucket(Bucket=bucket)
    return f"s3://{bucket}/root"


@contextmanager
def workers_with(cluster: Any, **environment: str) -> Iterator[None]:
    """The workers' own environment, for a while."""
    with Client(cluster) as client:
        client.run(_have, environment)
        try:
            yield
        finally:
            client.run(_forget, list(environment))


def _have(environment: dict[str, str]) -> None:
    os.environ.update(environment)


def _forget(names: list[str]) -> None:
    for name in names:
        os.environ.pop(name)


def run(scene: Path, cluster: Any, **place: Any) -> tuple[Any, ProcessReport]:
    state: Any = process_scene(
        [str(scene)],
        recipe=RECIPE,
        windows_per_task=6,
        engine="dask",
        engine_address=cluster.scheduler_address,
        return_state=True,
        **place,
    )
    report = state.result(raise_on_failure=False)
    assert isinstance(report, ProcessReport), report
    return state, report


def is_tile(request: Request) -> bool:
    return request.method == "PUT" and "/tiles/" in request.path


def key_of(request: Request) -> str:
    return request.headers["authorization"].partition("Credential=")[2].partition("/")[0]


def leaks(**places: bytes) -> list[str]:
    return canaries.leaks(places.items())


def test_each_process_has_the_keys_of_its_own_environment(
    scene: Path, root: str, cluster: Any, proxy: Proxy, sent: list[bytes]
) -> None:
    own = {"AWS_ACCESS_KEY_ID": WORKER, "AWS_SECRET_ACCESS_KEY": SECRETS["token"]}
    with workers_with(cluster, AWS_ENDPOINT_URL=proxy.url, **own):
        state, report = run(scene, cluster, to=root)
    assert (state.name, report.written) == ("Mosaicked", 12)
    assert {key_of(one) for one in proxy.requests if is_tile(one)} == {WORKER}
    assert {key_of(one) for one in proxy.requests if "/jobs/" in one.path} == {FLOW}
    assert len(sent) == 2
    assert leaks(batches=b"".join(sent)) == []


def test_what_a_refused_worker_says_holds_no_keys(
    scene: Path, root: str, cluster: Any, proxy: Proxy, sent: list[bytes]
) -> None:
    proxy.rule = lambda request: Fault.REFUSE_403 if is_tile(request) else None
    own = {"AWS_ACCESS_KEY_ID": WORKER, "AWS_SECRET_ACCESS_KEY": SECRETS["token"]}
    with workers_with(cluster, AWS_ENDPOINT_URL=proxy.url, **own):
        state, report = run(scene, cluster, to=root)
    assert (state.name, report.exit_code) == ("StoreFault", 5)
    assert "AccessDenied" in str(report.error)
    said = repr((state, state.message, report, report.error)).encode()
    assert leaks(said=said, pickled=pickle.dumps(report.error), sent=b"".join(sent)) == []


def test_a_worker_loads_the_block_that_the_spec_names(
    scene: Path, root: str, cluster: Any, proxy: Proxy, sent: list[bytes]
) -> None:
    name = f"keys-{uuid4().hex}"
    _save(name, root, proxy.url)
    own = {"AWS_ACCESS_KEY_ID": WORKER, "AWS_SECRET_ACCESS_KEY": SECRETS["token"]}
    with workers_with(cluster, **own):
        state, report = run(scene, cluster, store=name)
    assert (state.name, report.written) == ("Mosaicked", 12)
    assert {key_of(one) for one in proxy.requests} == {SAVED}
    assert all(name.encode() in batch for batch in sent)
    assert leaks(batches=b"".join(sent)) == []


def test_a_search_finds_what_crosses() -> None:
    crossing = cloudpickle.dumps({"parameters": {"key": SECRETS["password"]}})
    assert leaks(batches=crossing) != []


def _save(name: str, root: str, endpoint: str) -> None:
    keys: Any = AwsCredentials(
        aws_access_key_id=SAVED,
        aws_secret_access_key=SecretStr(SECRETS["password"]),
        region_name=servers.REGION,
    )
    keys.save(name, _sync=True)
    keys = AwsCredentials.load(name, _sync=True)
    table: Any = TileManifest(url=f"dynamodb://{name}", credentials=keys, endpoint=endpoint)
    table.save(name, _sync=True)
    table = TileManifest.load(name, _sync=True)
    store: Any = SceneStore(root=root, aws_credentials=keys, endpoint=endpoint, manifest=table)
    store.save(name, _sync=True)
