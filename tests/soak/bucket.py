"""A root in a bucket that keeps versions, its rows in DynamoDB: looked at past the adapters."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import servers
from tests.soak.damage import sha256, spoilt
from tests.soak.evidence import RowSeen, Version

_ROOT = "root"


@dataclass(frozen=True)
class Bucket:
    """``endpoint`` is the store's own, past whatever is killed before it."""

    endpoint: str
    bucket: str
    sources: str
    table: str
    spoiled: set[str] = field(default_factory=set)

    name = "s3"
    needs_sources = False

    @property
    def root(self) -> str:
        return f"s3://{self.bucket}/{_ROOT}"

    @property
    def manifest(self) -> str:
        return f"dynamodb://{self.table}"

    @property
    def prefix(self) -> str:
        return f"s3://{self.sources}/in/"

    def location(self, name: str) -> str:
        return f"{self.prefix}{name}"

    def bring(self, scene: Path) -> None:
        """Let the scene come, whole at once."""
        self._s3.put_object(Bucket=self.sources, Key=f"in/{scene.name}", Body=scene.read_bytes())

    def read(self, key: str, version_id: str | None = None) -> bytes:
        chosen = {} if version_id is None else {"VersionId": version_id}
        answer = self._s3.get_object(Bucket=self.bucket, Key=f"{_ROOT}/{key}", **chosen)
        return bytes(answer["Body"].read())

    def keys(self) -> list[str]:
        """What stands now, without what was deleted."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        found = [one["Key"] for page in pages for one in page.get("Contents", ())]
        return [key.removeprefix(f"{_ROOT}/") for key in found]

    def history(self) -> dict[str, list[Version]]:
        """Every version of every key, oldest first, the one that stands last."""
        found: dict[str, list[tuple[Any, Version]]] = {}
        for one, is_marker in self._listed():
            key, version_id = one["Key"].removeprefix(f"{_ROOT}/"), one["VersionId"]
            digest = "" if is_marker else sha256(self.read(key, version_id))
            version = Version(version_id, digest, version_id not in self.spoiled, is_marker)
            place = (one["IsLatest"], one["LastModified"])
            found.setdefault(key, []).append((place, version))
        for versions in found.values():
            versions.reverse()  # They are listed newest first, and sorting keeps that in a second.
            versions.sort(key=lambda one: one[0])
        return {key: [version for _, version in versions] for key, versions in found.items()}

    def rows(self) -> list[RowSeen]:
        pages = self._dynamodb.get_paginator("scan").paginate(
            TableName=self.table, ConsistentRead=True
        )
        items = [item for page in pages for item in page["Items"] if "output_uri" in item]
        return [row for row in map(_row, items) if row.is_of_a_job]

    def uploads(self) -> list[str]:
        """Multipart uploads that are open."""
        answer = self._s3.list_multipart_uploads(Bucket=self.bucket)
        return [f"{one['Key']} ({one['UploadId']})" for one in answer.get("Uploads", ())]

    def spoil(self, key: str) -> None:
        """Other bytes under the same metadata, over whatever stands there."""
        at = {"Bucket": self.bucket, "Key": f"{_ROOT}/{key}"}
        answer = self._s3.get_object(**at)
        kept = {"Metadata": answer["Metadata"], "ContentType": answer["ContentType"]}
        put = self._s3.put_object(**at, **kept, Body=spoilt(answer["Body"].read()))
        self.spoiled.add(put["VersionId"])

    def delete(self, key: str) -> None:
        gone = self._s3.delete_object(Bucket=self.bucket, Key=f"{_ROOT}/{key}")
        self.spoiled.add(gone["VersionId"])

    def delete_row(self, partition: str, window: str) -> None:
        key = {"job_id": {"S": partition}, "window": {"S": window}}
        self._dynamodb.delete_item(TableName=self.table, Key=key)

    def _listed(self) -> Iterator[tuple[dict[str, Any], bool]]:
        for page in self._s3.get_paginator("list_object_versions").paginate(Bucket=self.bucket):
            yield from ((one, False) for one in page.get("Versions", ()))
            yield from ((one, True) for one in page.get("DeleteMarkers", ()))

    @property
    def _s3(self) -> Any:
        return servers.aws_client("s3", self.endpoint)

    @property
    def _dynamodb(self) -> Any:
        return servers.aws_client("dynamodb", self.endpoint)


def make_bucket(endpoint: str) -> Bucket:
    """Fresh buckets for sources and outputs, and a table's name."""
    return Bucket(
        endpoint,
        servers.make_bucket(endpoint, versioned=True),
        servers.make_bucket(endpoint),
        servers.fresh_table_name(),
    )


def _row(item: dict[str, Any]) -> RowSeen:
    known = {name: value.get("S") for name, value in item.items()}
    return RowSeen(
        str(known["job_id"]),
        str(known["window"]),
        str(known["output_uri"]),
        known.get("sha256"),
        known.get("version_id"),
    )
