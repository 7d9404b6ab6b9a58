"""Where a test's job lives, and a look at what is really there, past the adapters."""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import boto3

from scenemosaic import keys
from tests.forked import Fork, forks

REPOSITORY = Path(__file__).resolve().parents[2]
# A run that was killed is waited for no longer than this.
LEASE_S = "1"


@dataclass(frozen=True)
class Place:
    """A root with its manifest and the environment that leads there."""

    root: str
    manifest: str
    env: Mapping[str, str] = field(default_factory=dict)

    def start(self, source: Path, window: int, run_id: str) -> Fork:
        given = [str(source), self.root, self.manifest, str(window), run_id]
        env = {**os.environ, "SCENEMOSAIC_CLAIM_LEASE_S": LEASE_S, **self.env}
        return forks().start("tests.jobs.run_job", given, REPOSITORY, env)

    def versions(self) -> dict[str, list[str]]:
        """Every key of the contract below the root, and the digest of each of its versions.

        The audit log is not of them: what it says depends on who met whom.
        """
        found = _s3_versions(self) if self.root.startswith("s3://") else _local_versions(self)
        return {key: digests for key, digests in found.items() if not keys.audit_number(key)}

    def uploads(self) -> list[str]:
        """Keys of multipart uploads that are still open."""
        if not self.root.startswith("s3://"):
            return []
        bucket = urlsplit(self.root).netloc
        answer = client(self, "s3").list_multipart_uploads(Bucket=bucket)
        return [upload["Key"] for upload in answer.get("Uploads", [])]


def client(place: Place, service: str) -> Any:
    """A client of the server itself, not of the proxy that may stand before it."""
    endpoint = place.env.get("DIRECT") or place.env["AWS_ENDPOINT_URL"]
    return boto3.client(service, endpoint_url=endpoint)


def _s3_versions(place: Place) -> dict[str, list[str]]:
    parts, s3 = urlsplit(place.root), client(place, "s3")
    found: dict[str, list[str]] = {}
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=parts.netloc):
        assert not page.get("DeleteMarkers")
        for version in page.get("Versions", []):
            body = s3.get_object(
                Bucket=parts.netloc, Key=version["Key"], VersionId=version["VersionId"]
            )["Body"].read()
            key = version["Key"].removeprefix(parts.path.strip("/") + "/")
            found.setdefault(key, []).append(hashlib.sha256(body).hexdigest())
    return found


def _local_versions(place: Place) -> dict[str, list[str]]:
    top = Path(unquote(urlsplit(place.root).path))
    return {
        path.relative_to(top).as_posix(): [hashlib.sha256(path.read_bytes()).hexdigest()]
        for path in sorted(top.rglob("*"))
        if path.is_file() and not path.relative_to(top).as_posix().startswith((".", "manifest.db"))
    }


def finish(process: Fork, timeout_s: float = 240) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a started run."""
    out, err = process.communicate(timeout=timeout_s)
    return process.wait(), out, err


MakePlace = Callable[[], Place]
