"""No call to a remote store lasts for ever: not in silence, and not while its bytes drip."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from scenemosaic.errors import TransientStoreError
from scenemosaic.stores import open_store
from scenemosaic.stores.port import IfAbsent, Store
from scenemosaic.waiting.deadlines import VARIABLE
from tests import servers
from tests.faults.proxy import Fault, Proxy, once
from tests.stores.cloud_doors import azure_container, gcs_bucket
from tests.stores.conformance import KEY, body, create

CALL_S = 1.0
# The next byte comes before any silence is noticed, and the last one much too late.
DRIP_S = 0.05
WHOLE = (Fault.HANG, Fault.DRIP)


@dataclass(frozen=True)
class Slow:
    store: Store
    direct: Store
    proxy: Proxy


@pytest.fixture(params=["s3", "gs", "az"])
def slow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    """A store reached through the proxy with short deadlines, and directly with the usual ones."""
    kind = request.param
    endpoint = request.getfixturevalue({"s3": "ministack", "gs": "fake_gcs", "az": "azurite"}[kind])
    root, at = {"s3": _s3, "gs": _gs, "az": _az}[kind](endpoint, monkeypatch)
    at(endpoint)
    direct = open_store(root)
    with Proxy(endpoint, drip_s=DRIP_S) as proxy:
        at(proxy.url)
        monkeypatch.setenv(VARIABLE, str(CALL_S))
        store = open_store(root)
        yield Slow(store, direct, proxy)
        store.close()
        direct.close()


At = Callable[[str], None]


def _s3(endpoint: str, patch: pytest.MonkeyPatch) -> tuple[str, At]:
    root = f"s3://{servers.make_bucket(endpoint)}/p"
    return root, lambda url: patch.setenv("AWS_ENDPOINT_URL_S3", url)


def _gs(endpoint: str, patch: pytest.MonkeyPatch) -> tuple[str, At]:
    root = f"gs://{gcs_bucket(endpoint)}/p"
    return root, lambda url: patch.setenv("STORAGE_EMULATOR_HOST", url)


def _az(endpoint: str, patch: pytest.MonkeyPatch) -> tuple[str, At]:
    root = f"az://{azure_container(endpoint).container_name}/p"
    name = "AZURE_STORAGE_CONNECTION_STRING"
    return root, lambda url: patch.setenv(name, servers.azurite_connection(url))


@pytest.mark.parametrize("fault", WHOLE)
def test_a_write_ends_in_time_and_is_ambiguous(slow: Slow, fault: Fault) -> None:
    slow.proxy.rule = once(fault)
    with pytest.raises(TransientStoreError, match=KEY):
        slow.store.put(KEY, body(b"data"), IfAbsent())
    assert len(slow.proxy.mutations) <= 1


def test_the_deadline_is_named(slow: Slow) -> None:
    slow.proxy.rule = once(Fault.DRIP)
    with pytest.raises(TransientStoreError, match=r"no whole answer within 1"):
        slow.store.put(KEY, body(b"data"), IfAbsent())


@pytest.mark.parametrize("fault", WHOLE)
def test_reads_end_in_time(slow: Slow, fault: Fault) -> None:
    create(slow.direct, bytes(1000))
    for read in (slow.store.head, slow.store.get):
        slow.proxy.rule = once(fault, lambda request: True)
        with pytest.raises(TransientStoreError, match=KEY):
            read(KEY)
