"""What S3 copies by itself is compared with its row where S3 tells the copied part's checksum."""

import os
import zlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from scenemosaic.errors import IncompleteError
from scenemosaic.stores import open_store
from scenemosaic.stores.port import CopyRun, Literal, Segment, Store
from tests import servers
from tests.stores.conformance import KEY, MIB, MOSAIC, compose, create, written
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
    data = os.urandom(12 * MIB)
    return CopyRun(KEY, create(store, data).etag, 0, len(data), zlib.crc32(data)), data


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
