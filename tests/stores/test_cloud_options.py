"""What a bucket or container demands of its clients reaches the server, in every kind of write.

The emulators keep little of it: what counts is what the requests say on the wire.
"""

import json
from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl

import pytest

from scenemosaic.roots import parse_root
from scenemosaic.stores import azure, gcs
from scenemosaic.stores.azure_requests import AzureOptions
from scenemosaic.stores.gcs_requests import GcsOptions
from scenemosaic.stores.port import CopyRun, IfAbsent, Literal, Segment, Store
from tests import servers
from tests.stores.azure_front import AzureFront
from tests.stores.cloud_doors import azure_container, gcs_bucket
from tests.stores.conformance import KEY, MIB, MOSAIC, compose, create, written
from tests.stores.fronts import Answered, Asked, Front
from tests.stores.gcs_front import GcsFront

GCS = GcsOptions(
    kms_key_name="projects/p/locations/eu/keyRings/r/cryptoKeys/k",
    storage_class="NEARLINE",
    user_project="who-pays",
)
AZURE = AzureOptions(
    access_tier="Cool",
    encryption_scope="scope-1",
    tags=(("team", "a b"), ("project", "mosaics")),
)


class Recorded(Front):
    """``asked`` holds every request."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.asked: list[Asked] = []

    def answer(self, asked: Asked) -> Answered:
        self.asked.append(asked)
        return super().answer(asked)


class SeenByGcs(Recorded, GcsFront):
    pass


class SeenByAzure(Recorded, AzureFront):
    pass


@pytest.fixture
def gcs_front(fake_gcs: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SeenByGcs]:
    front = SeenByGcs(fake_gcs)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", front.url)
    with front.running():
        yield front


@pytest.fixture
def azure_front(azurite: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SeenByAzure]:
    front = SeenByAzure(azurite)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", servers.azurite_connection(front.url))
    with front.running():
        yield front


def write_all_ways(store: Store) -> None:
    """A single request, a small composition, and a large one with a run that may be copied."""
    tile = create(store, bytes(12 * MIB))
    written(compose(store, [Literal(b"small")]))
    standing = store.head(MOSAIC)
    assert standing is not None
    segments: Sequence[Segment] = [
        Literal(bytes(9 * MIB)),
        CopyRun(KEY, tile.etag, 0, tile.size_bytes),
        Literal(b"tail"),
    ]
    metadata = {"digest": "d", "write_id": "run-1/large"}
    written(store.compose("large", segments, IfAbsent(), "image/tiff", metadata))
    assert len(store.get("large")) == 21 * MIB + 4
    assert [info.key for info in store.list("large")] == ["large"]
    store.close()


def resource_of(asked: Asked) -> dict[str, object]:
    text = asked.body
    if asked.query["uploadType"] == "multipart":
        text = text.split(b"\r\n\r\n", 2)[1].partition(b"\r\n--")[0]
    found: dict[str, object] = json.loads(text)
    return found


def begins(front: SeenByGcs) -> list[Asked]:
    """The requests that make an object, or a session that will."""
    return [one for one in front.asked if one.method == "POST"]


def test_cloud_storage_is_told_in_every_request(gcs_front: SeenByGcs) -> None:
    root = parse_root(f"gs://{gcs_bucket(gcs_front.upstream)}/root")
    write_all_ways(gcs.connect(root, GCS))
    made = begins(gcs_front)
    assert [one.query["uploadType"] for one in made] == ["multipart", "multipart", "resumable"]
    for one in made:
        assert one.query["kmsKeyName"] == GCS.kms_key_name
        assert one.query["ifGenerationMatch"] == "0"
        resource = resource_of(one)
        assert resource["storageClass"] == "NEARLINE"
        assert "write_id" in dict(resource["metadata"])  # type: ignore[call-overload]
    # Who pays is asked of reads and listings too; a session's URL carries it by itself.
    others = [one for one in gcs_front.asked if "upload_id" not in one.query]
    assert {one.query.get("userProject") for one in others} == {"who-pays"}
    assert {one.method for one in others} == {"GET", "POST"}


def test_cloud_storage_is_told_nothing_by_default(gcs_front: SeenByGcs) -> None:
    root = parse_root(f"gs://{gcs_bucket(gcs_front.upstream)}/root")
    write_all_ways(gcs.connect(root))
    assert len(begins(gcs_front)) == 3
    for one in gcs_front.asked:
        assert not {"kmsKeyName", "userProject"} & one.query.keys()
    assert all("storageClass" not in resource_of(one) for one in begins(gcs_front))


WRITES = {"": "Put Blob", "block": "Put Block", "blocklist": "Put Block List"}
HEADERS = {"x-ms-encryption-scope", "x-ms-access-tier", "x-ms-tags"}


def writes(front: SeenByAzure) -> list[tuple[str, Asked]]:
    puts = [one for one in front.asked if one.method == "PUT"]
    return [(WRITES[one.query.get("comp", "")], one) for one in puts]


def test_azure_is_told_in_every_write(azure_front: SeenByAzure) -> None:
    container = azure_container(azure_front.upstream)
    root = parse_root(f"az://{container.container_name}/root")
    write_all_ways(azure.connect(root, AZURE))
    made = writes(azure_front)
    assert {kind for kind, _ in made} == set(WRITES.values())
    assert any("x-ms-copy-source" in one.headers for _, one in made)
    for kind, one in made:
        assert one.headers["x-ms-encryption-scope"] == "scope-1"
        told = {name: one.headers.get(name) for name in ("x-ms-access-tier", "x-ms-tags")}
        if kind == "Put Block":  # what is no blob yet has neither tier nor tags
            assert set(told.values()) == {None}
            continue
        assert told["x-ms-access-tier"] == "Cool"
        assert sorted(parse_qsl(str(told["x-ms-tags"]))) == sorted(AZURE.tags)
        assert "x-ms-meta-write_id" in one.headers
    for key in (KEY, "large"):
        blob = container.get_blob_client(f"root/{key}")
        assert blob.get_blob_properties().blob_tier == "Cool"
        assert blob.get_blob_tags() == dict(AZURE.tags)


def test_azure_is_told_nothing_by_default(azure_front: SeenByAzure) -> None:
    container = azure_container(azure_front.upstream)
    root = parse_root(f"az://{container.container_name}/root")
    write_all_ways(azure.connect(root))
    assert len(writes(azure_front)) > 4
    assert not any(HEADERS & one.headers.keys() for one in azure_front.asked)
