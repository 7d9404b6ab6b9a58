"""Adapters behind a proxy that loses replies, on a clock that only sleeping moves."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from scenemosaic.committing.commit import Committed, RetryPolicy, commit_composed
from scenemosaic.roots import parse_root
from scenemosaic.stores.azure import AzureStore
from scenemosaic.stores.azure_requests import AzureOptions, make_service
from scenemosaic.stores.azure_requests import Requests as AzureRequests
from scenemosaic.stores.gcs import GcsStore
from scenemosaic.stores.gcs_requests import GcsOptions
from scenemosaic.stores.gcs_requests import Requests as GcsRequests
from scenemosaic.stores.gcs_requests import make_client as make_gcs_client
from scenemosaic.stores.port import Condition, IfAbsent, Segment
from scenemosaic.stores.s3 import S3Store
from scenemosaic.stores.s3_requests import Requests as S3Requests
from scenemosaic.stores.s3_requests import S3Options, make_client
from tests import servers
from tests.faults.effects import FakeTime
from tests.faults.proxy import LOST_REPLIES, Fault, Proxy
from tests.faults.wire import Request
from tests.stores.azure_front import AzureFront
from tests.stores.cloud_doors import AzureDoor, GcsDoor, azure_container, gcs_bucket
from tests.stores.conformance import MOSAIC
from tests.stores.doors import Harness, S3Door
from tests.stores.gcs_front import GcsFront

POLICY = RetryPolicy(attempts=6)
METADATA = {"digest": "d", "write_id": "run-1/mosaic", "job_id": "0123"}
# A reply that hangs costs a whole deadline: see test_deadlines.
FAST = [fault for fault in LOST_REPLIES if fault is not Fault.HANG]


@dataclass(frozen=True)
class Faulty:
    """``completes`` tells the request that makes a large object, ``carries`` one of its bytes.

    ``conflicts``: the service may answer 409 ConditionalRequestConflict. ``resumes``: a lost
    completion is asked for, and found, without being sent again.
    """

    harness: Harness
    proxy: Proxy
    completes: Callable[[Request], bool]
    carries: Callable[[Request], bool]
    conflicts: bool = True
    resumes: bool = False
    more: Any = None  # the front, or the requests, of its kind

    @property
    def store(self) -> Any:
        return self.harness.store

    @property
    def door(self) -> Any:
        return self.harness.door

    def commit_composed(
        self, segments: list[Segment], condition: Condition | None = None
    ) -> Committed:
        return commit_composed(
            self.store,
            *(MOSAIC, segments, condition or IfAbsent(), "image/tiff", METADATA),
            *(POLICY, FakeTime().effects()),
        )


def is_complete(request: Request) -> bool:
    return request.method == "POST" and "uploadId=" in request.query


def is_part(request: Request) -> bool:
    return "partNumber=1" in request.query


def is_chunk(request: Request) -> bool:
    return request.method == "PUT" and "upload_id=" in request.query


def is_last_chunk(request: Request) -> bool:
    start, _, total = request.headers.get("content-range", "").partition("/")
    return is_chunk(request) and start.endswith(f"-{int(total or 1) - 1}")


def is_commit(request: Request) -> bool:
    return "comp=blocklist" in request.query and request.method == "PUT"


def is_block(request: Request) -> bool:
    return "comp=block&" in f"{request.query}&"


@contextlib.contextmanager
def s3(endpoint: str, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    bucket = servers.make_bucket(endpoint, versioned=True)
    door = S3Door(servers.aws_client("s3", endpoint), bucket, "p/")
    with Proxy(endpoint) as proxy:
        patch.setenv("AWS_ENDPOINT_URL_S3", proxy.url)
        root, options = parse_root(f"s3://{bucket}/p"), S3Options()
        requests = S3Requests(make_client(options, root.uri), bucket, options)
        store = S3Store(root, requests, POLICY, FakeTime().effects())
        yield Faulty(Harness(store, door, versioned=True), proxy, is_complete, is_part)
        store.close()


@contextlib.contextmanager
def gcs(endpoint: str, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    """``more`` is the front."""
    front = GcsFront(endpoint)
    bucket = gcs_bucket(endpoint, versioned=True)
    door = GcsDoor(endpoint, bucket, "p/", front.open_sessions)
    with front.running(), Proxy(front.url) as proxy:
        patch.setenv("STORAGE_EMULATOR_HOST", proxy.url)
        root = parse_root(f"gs://{bucket}/p")
        client = make_gcs_client(root.uri)
        requests = GcsRequests(client._http, client.api_endpoint, bucket, GcsOptions())
        store = GcsStore(root, requests, POLICY, FakeTime().effects())
        harness = Harness(store, door, versioned=True)
        yield Faulty(harness, proxy, is_last_chunk, is_chunk, resumes=True, more=front)
        store.close()


@contextlib.contextmanager
def azure(endpoint: str, *, copied: bool) -> Iterator[Faulty]:
    """``more`` is the adapter's requests."""
    container = azure_container(endpoint)
    front = AzureFront(endpoint)
    with front.running(), Proxy(front.url if copied else endpoint) as proxy:
        said = {"AZURE_STORAGE_CONNECTION_STRING": servers.azurite_connection(proxy.url)}
        root = parse_root(f"az://{container.container_name}/p")
        client = make_service(said, root.uri).get_container_client(root.bucket)
        requests = AzureRequests(client, AzureOptions())
        store = AzureStore(root, requests, POLICY, FakeTime().effects())
        harness = Harness(store, AzureDoor(container, "p/"))
        yield Faulty(harness, proxy, is_commit, is_block, conflicts=False, more=requests)
        store.close()
