"""What may be shown: no user, no password, no signature."""

import pickle

import pytest

from flows.redact import public_manifest, public_source
from scenemosaic.errors import PermanentStoreError


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////tmp/a/manifest.db", "sqlite:////tmp/a/manifest.db"),
        ("sqlite://", "sqlite://"),
        ("dynamodb://table?region=eu-central-1", "dynamodb://table?region=eu-central-1"),
        ("postgresql+psycopg://ann:S3cret@db:5432/m", "postgresql+psycopg://db:5432/m"),
        ("postgresql+psycopg://db/m?password=S3cret", "postgresql+psycopg://db/m"),
        ("postgresql+psycopg://ann:S3c@ret@db/m", "postgresql+psycopg://db/m"),
    ],
)
def test_manifest(url: str, shown: str) -> None:
    assert public_manifest(url) == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("https://host/a.tif?X-Amz-Signature=S3cret", "https://host/a.tif"),
        ("s3://bucket/a.tif", "s3://bucket/a.tif"),
        ("https://ann:S3cret@host/a.tif", ""),
        ("/data/a.tif", "/data/a.tif"),
    ],
)
def test_source(source: str, shown: str) -> None:
    assert public_source(source) == shown


def test_no_error_repeats_user_and_password() -> None:
    error = PermanentStoreError("no answer from http://ann:S3c@ret@host:9000/b?x of s3://b/a@b.tif")
    for text in (str(error), repr(error), str(pickle.loads(pickle.dumps(error)))):
        assert "no answer from http://…@host:9000/b?x of s3://b/a@b.tif" in text
