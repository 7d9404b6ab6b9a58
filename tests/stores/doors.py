"""Back doors: what really stands in a store, past the adapter under test."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from scenemosaic.stores.port import Store


class Door(Protocol):
    """Raw access. ``versions`` counts versions that hold bytes, delete markers left out."""

    def read(self, key: str) -> bytes: ...
    def write(self, key: str, data: bytes) -> None: ...
    def delete(self, key: str) -> None: ...
    def keys(self) -> list[str]: ...
    def versions(self, key: str) -> int: ...
    def stamp(self, key: str) -> object: ...
    def open_uploads(self) -> int: ...


@dataclass(frozen=True)
class LocalDoor:
    root: Path

    def read(self, key: str) -> bytes:
        return (self.root / key).read_bytes()

    def write(self, key: str, data: bytes) -> None:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(data)

    def delete(self, key: str) -> None:
        (self.root / key).unlink()

    def keys(self) -> list[str]:
        files = (path for path in self.root.rglob("*") if path.is_file())
        names = (str(path.relative_to(self.root)) for path in files)
        return sorted((name for name in names if name[0] != "."), key=os.fsencode)

    def versions(self, key: str) -> int:
        return int((self.root / key).exists())

    def stamp(self, key: str) -> object:
        status = (self.root / key).stat()
        return status.st_mtime_ns, status.st_ino

    def open_uploads(self) -> int:
        """Hidden files that were left behind: the nearest thing to an open upload."""
        return len(list((self.root / ".scenemosaic" / "tmp").glob("*")))


@dataclass(frozen=True)
class S3Door:
    client: Any
    bucket: str
    prefix: str

    def read(self, key: str) -> bytes:
        found = self.client.get_object(Bucket=self.bucket, Key=self.prefix + key)
        return bytes(found["Body"].read())

    def write(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key=self.prefix + key, Body=data)

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=self.prefix + key)

    def keys(self) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        return [
            found["Key"][len(self.prefix) :] for page in pages for found in page.get("Contents", ())
        ]

    def versions(self, key: str) -> int:
        full = self.prefix + key
        page = self.client.list_object_versions(Bucket=self.bucket, Prefix=full)
        return sum(found["Key"] == full for found in page.get("Versions", ()))

    def stamp(self, key: str) -> object:
        found = self.client.head_object(Bucket=self.bucket, Key=self.prefix + key)
        return found["LastModified"], found["ETag"], found.get("VersionId")

    def open_uploads(self) -> int:
        return len(self.client.list_multipart_uploads(Bucket=self.bucket).get("Uploads") or ())


@dataclass(frozen=True)
class Harness:
    """An adapter under test, its back door, and what its server is known to get wrong.

    A defect is asserted as such wherever it is certain, so that a server that mends it is noticed.
    """

    store: Store
    door: Door
    versioned: bool = False
    defects: frozenset[str] = frozenset()
    race_rounds: int = 3
    # More than one page of a server. To make them takes long: once for each way of listing.
    listed: int = 1005
