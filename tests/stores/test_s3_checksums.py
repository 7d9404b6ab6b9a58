"""What S3 copies by itself is compared with its row where S3 tells the copied part's checksum."""

import base64
import zlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from scenemosaic.errors import IncompleteError
from scenemosaic.stores import open_store
from scenemosaic.stores.port import CopyRun, Literal, Segment, Store
from tests import servers
from tests.stores.conformance import KEY, MIB, MOSAIC, compose, create, noise, written
from tests.stores.s3_front import S3Front


@pytest.fixture
def front(ministack: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Front]:
    front = S3Front(ministack)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", front.url)
    with front.running():
        yield front


@pytest.fixture
def store(front: S3Front) -> Iterator[Store]:
    store = open_store(f"s3://{servers.make_bucket(front.upstream)}/a prefix/ü+%")
    yield store
    store.close()


def run_of(store: Store) -> tuple[CopyRun, bytes]:
    data = noise(12 * MIB)
    return CopyRun(KEY, create(store, data).etag, 0, len(data), zlib.crc32(data)), data


# What an uploaded part's bytes have to be is said once, and by us.
@pytest.mark.parametrize(("when", "is_told"), [("when_supported", True), ("when_required", False)])
def test_an_uploaded_part_carries_its_checksum_where_stores_take_one(
    front: S3Front, monkeypatch: pytest.MonkeyPatch, when: str, is_told: bool
) -> None:
    monkeypatch.setenv("AWS_REQUEST_CHECKSUM_CALCULATION", when)
    store = open_store(f"s3://{servers.make_bucket(front.upstream)}/p")
    run, data = run_of(store)
    written(compose(store, [Literal(b"header"), run]))
    assert store.get(MOSAIC) == b"header" + data
    (told,) = front.completed
    uploaded = zlib.crc32(b"header" + data[: 5 * MIB - len(b"header")])
    said = base64.b64encode(uploaded.to_bytes(4, "big")).decode()
    assert (told[0] == said) == is_told
    store.close()


# Alone it is copied whole; behind a header it lends its head to an uploaded part.
@pytest.mark.parametrize("header", [b"", b"header"])
def test_a_sound_run_is_copied(store: Store, front: S3Front, header: bytes) -> None:
    run, data = run_of(store)
    written(compose(store, [Literal(header), run]))
    assert store.get(MOSAIC) == header + data
    (told,) = front.completed
    assert len(told) == (2 if header else 1)


@pytest.mark.parametrize("header", [b"", b"header"])
def test_a_damaged_run_stops_the_composition(store: Store, front: S3Front, header: bytes) -> None:
    run, _ = run_of(store)
    segments: list[Segment] = [Literal(header), replace(run, crc=zlib.crc32(b"what it was"))]
    with pytest.raises(IncompleteError, match=f"{KEY} holds other bytes than its manifest row"):
        compose(store, segments)
    assert store.head(MOSAIC) is None
    assert front.completed == []
    bucket = store.uri.split("/")[2]
    listed = servers.aws_client("s3", front.upstream).list_multipart_uploads(Bucket=bucket)
    assert not listed.get("Uploads")
