"""A finished job, and real damage to it, past the adapters: as accidents and intruders do it."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from scenemosaic import job, keys
from scenemosaic.committing.commit import Outcome, commit_object
from scenemosaic.divergence import read_tile
from scenemosaic.manifests.port import Row, Updated
from scenemosaic.session import JobSpec, Session, open_session
from scenemosaic.stores.local_layout import Layout
from scenemosaic.stores.port import Body, IfMatch
from scenemosaic.verification.report import VerifyReport
from scenemosaic.verification.verify import verify
from tests.jobs.places import Place, client

ME = job.Run("me", "me")
WINDOW, BLOCK, LOSSY_BLOCK = 64, 16, 32
NAME, NUMBER, OTHER_NAME = "0001_0001", 4, "0000_0001"


@dataclass(frozen=True)
class Damage:
    """A job of 3 x 3 windows and the ways to spoil it."""

    place: Place
    spec: JobSpec

    @property
    def job_id(self) -> str:
        return self.spec.plan.job_id

    @property
    def session(self) -> Session:
        return open_session(self.spec)

    @property
    def is_local(self) -> bool:
        return self.place.root.startswith("file:")

    def tile(self, name: str = NAME) -> str:
        return keys.tile_key(self.job_id, name)

    def found(self, **options: Any) -> set[tuple[str, str]]:
        """Subject and kind of every finding."""
        return pairs(verify(self.spec, **options))

    # -- objects

    def path(self, key: str) -> Path:
        return Path(unquote(urlsplit(self.place.root).path)) / key

    def _s3(self, key: str) -> dict[str, str]:
        parts = urlsplit(self.place.root)
        return {"Bucket": parts.netloc, "Key": f"{parts.path.strip('/')}/{key}"}

    def read(self, key: str) -> bytes:
        if self.is_local:
            return self.path(key).read_bytes()
        return bytes(client(self.place, "s3").get_object(**self._s3(key))["Body"].read())

    def change(self, key: str, edit: Callable[[bytes], bytes]) -> None:
        """Other bytes under the same metadata; on a local root also under the same ETag."""
        data = edit(self.read(key))
        if self.is_local:
            path = self.path(key)
            before = path.stat()
            path.write_bytes(data)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            meta = Layout(self.path("")).meta_path(key)
            document = json.loads(meta.read_bytes())
            document["entries"][0]["size_bytes"] = len(data)
            meta.write_text(json.dumps(document))
            return
        s3 = client(self.place, "s3")
        head = s3.head_object(**self._s3(key))
        kept = {"Metadata": head["Metadata"], "ContentType": head["ContentType"]}
        s3.put_object(**self._s3(key), Body=data, **kept)

    def flip(self, key: str, at: int) -> None:
        self.change(key, lambda data: flipped(data, at))

    def put_foreign(self, key: str, data: bytes = b"not ours") -> None:
        """An object that knows nothing of this pipeline."""
        if not self.is_local:
            client(self.place, "s3").put_object(**self._s3(key), Body=data)
            return
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(data)

    def delete(self, key: str) -> None:
        if self.is_local:
            self.path(key).unlink()
        else:
            client(self.place, "s3").delete_object(**self._s3(key))

    # -- rows

    def row(self, name: str = NAME) -> Row:
        number = 0 if name == keys.MOSAIC_ROW else self.spec.plan.recipe.tiling().number(name)
        row = self.session.manifest.get(self.session.partition(self.spec, number), name)
        assert row is not None
        return row

    def mend_row(self, name: str = NAME, **changes: Any) -> None:
        row = self.row(name)
        answer = self.session.manifest.replace(replace(row, **changes), row.revision)
        assert isinstance(answer, Updated)

    def spoil_row(self, name: str, column: str, value: object) -> None:
        """A value that no adapter writes, of SQLite."""
        path = self.place.manifest.removeprefix("sqlite:///")
        statement = f'UPDATE manifest_rows SET {column} = ? WHERE job_id = ? AND "window" = ?'
        with closing(sqlite3.connect(path)) as database, database:
            given = (value, self.session.partition(self.spec), name)
            assert database.execute(statement, given).rowcount == 1

    def delete_row(self, name: str = NAME) -> None:
        partition = self.session.partition(self.spec)
        if self.place.manifest.startswith("sqlite:"):
            path = self.place.manifest.removeprefix("sqlite:///")
            statement = 'DELETE FROM manifest_rows WHERE job_id = ? AND "window" = ?'
            with sqlite3.connect(path) as database:
                assert database.execute(statement, (partition, name)).rowcount == 1
            database.close()
            return
        table = self.place.manifest.removeprefix("dynamodb://")
        key = {"job_id": {"S": partition}, "window": {"S": name}}
        client(self.place, "dynamodb").delete_item(TableName=table, Key=key)

    def pass_off(self, data: bytes) -> None:
        """Store ``data`` as the tile NAME, and let row and metadata say that this is right."""
        session, key = self.session, self.tile()
        info = session.store.head(key)
        assert info is not None
        metadata = dict(info.metadata) | {"sha256": sha256(data), "write_id": "other/1"}
        body = Body(data, sha256(data), keys.TIFF_CONTENT_TYPE, metadata)
        condition = IfMatch(info.etag)
        done = commit_object(session.store, key, body, condition, session.policy, session.effects)
        assert done.outcome is Outcome.WRITTEN
        recipe = self.spec.plan.recipe
        window = recipe.tiling().window(recipe.tiling().number(NAME))
        tile, stored = read_tile(data, window, recipe, key), done.stored
        self.mend_row(
            sha256=sha256(data),
            crc=tile.crc,
            blocks=tile.blocks,
            etag=stored.etag,
            version_id=stored.version_id,
        )


def pairs(report: VerifyReport) -> set[tuple[str, str]]:
    return {(finding.subject, finding.kind.value) for finding in report.findings}


def flipped(data: bytes, at: int) -> bytes:
    """``data`` with one bit of one byte changed."""
    spoiled = bytearray(data)
    spoiled[at] ^= 0x10
    return bytes(spoiled)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
