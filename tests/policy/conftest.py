"""The policies of one root as the command prints them."""

from collections.abc import Mapping
from typing import Any

import pytest

from scenemosaic.policy.advice import Advice, advise
from scenemosaic.roots import ManifestUrl, Root, parse_manifest, parse_root

ACCOUNT = "123456789012"
ROOT = parse_root("s3://bucket/some/root")
MANIFEST = parse_manifest("dynamodb://rows?region=eu-central-1")


@pytest.fixture(scope="session")
def advice() -> Advice:
    return advise(ROOT, MANIFEST)


def iam_policy(advice: Advice, role: str) -> Mapping[str, Any]:
    found: Any = advice.roles[role]["iam_policy"]
    return found


def bucket_policy(advice: Advice) -> Mapping[str, Any]:
    assert advice.bucket_policy is not None
    return advice.bucket_policy


def of_place(root: str, manifest: str) -> tuple[Root, ManifestUrl, Advice]:
    place, rows = parse_root(root), parse_manifest(manifest)
    return place, rows, advise(place, rows)
