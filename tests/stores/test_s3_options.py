"""What a bucket demands of its clients reaches the server: single requests and multipart alike."""

import hashlib

import pytest

from scenemosaic.roots import parse_root
from scenemosaic.stores.port import Body, CopyRun, IfAbsent, Literal
from scenemosaic.stores.s3 import S3Store, connect
from scenemosaic.stores.s3_requests import S3Options
from tests import servers

OPTIONS = S3Options(
    sse_kms_key_id="arn:aws:kms:eu-central-1:123456789012:key/abc",
    storage_class="STANDARD_IA",
    tags=(("team", "a b"), ("project", "mosaics")),
    requester_pays=True,
)
MIB = 1 << 20


def _written(store: S3Store) -> tuple[str, str]:
    data = bytes(6 * MIB)
    facts = {"sha256": hashlib.sha256(data).hexdigest(), "write_id": "w", "job_id": "j"}
    tile = store.put("tile", Body(data, facts["sha256"], "image/tiff", facts), IfAbsent()).info
    assert tile is not None
    parts = [Literal(b"header" * MIB), CopyRun("tile", tile.etag, 0, 6 * MIB)]
    assert store.compose("mosaic", parts, IfAbsent(), "image/tiff", facts).info is not None
    return "tile", "mosaic"


def test_options_reach_the_objects(moto_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = servers.make_bucket(moto_server, versioned=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", moto_server)
    client = servers.aws_client("s3", moto_server)
    for key in _written(connect(parse_root(f"s3://{bucket}/root"), OPTIONS)):
        stored = client.head_object(Bucket=bucket, Key=f"root/{key}")
        assert stored["ServerSideEncryption"] == "aws:kms", key
        assert stored["SSEKMSKeyId"] == OPTIONS.sse_kms_key_id
        assert stored["StorageClass"] == "STANDARD_IA"
        tags = client.get_object_tagging(Bucket=bucket, Key=f"root/{key}")["TagSet"]
        assert sorted((tag["Key"], tag["Value"]) for tag in tags) == sorted(OPTIONS.tags)


def test_nothing_is_asked_for_by_default(moto_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = servers.make_bucket(moto_server, versioned=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", moto_server)
    client = servers.aws_client("s3", moto_server)
    for key in _written(connect(parse_root(f"s3://{bucket}/root"))):
        stored = client.head_object(Bucket=bucket, Key=f"root/{key}")
        assert "StorageClass" not in stored
        assert "SSEKMSKeyId" not in stored
        assert client.get_object_tagging(Bucket=bucket, Key=f"root/{key}")["TagSet"] == []
