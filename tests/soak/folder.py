"""A root on local files, its rows in SQLite: looked at past the adapters."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from scenemosaic.keys import HIDDEN
from scenemosaic.stores.local_layout import MANIFEST, Layout
from scenemosaic.stores.local_scratch import abandoned
from tests.soak.damage import sha256, spoilt
from tests.soak.evidence import RowSeen, Version

_BUSY_S = 60.0


@dataclass(frozen=True)
class Folder:
    """``spoiled`` are the digests of what the back door wrote: files have no versions."""

    top: Path
    sources: Path
    spoiled: set[str] = field(default_factory=set)

    name = "local"
    needs_sources = True

    @property
    def root(self) -> str:
        return str(self.top)

    @property
    def manifest(self) -> str:
        return f"sqlite:///{self.top / MANIFEST}"

    @property
    def prefix(self) -> str:
        return str(self.sources)

    def location(self, name: str) -> str:
        return str(self.sources / name)

    def bring(self, scene: Path) -> None:
        """Let the scene come, whole at once."""
        half = self.sources / f"{scene.name}.part"
        shutil.copyfile(scene, half)
        half.replace(self.sources / scene.name)

    def read(self, key: str) -> bytes:
        return (self.top / key).read_bytes()

    def keys(self) -> list[str]:
        hidden = (HIDDEN, MANIFEST)
        found = (path for path in self.top.rglob("*") if path.is_file())
        names = (path.relative_to(self.top).as_posix() for path in found)
        return sorted(name for name in names if not name.startswith(hidden))

    def history(self) -> dict[str, list[Version]]:
        """The one version of each key that there is."""
        digests = {key: sha256(self.read(key)) for key in self.keys()}
        return {
            key: [Version(None, digest, digest not in self.spoiled)]
            for key, digest in digests.items()
        }

    def rows(self) -> list[RowSeen]:
        query = 'SELECT job_id, "window", output_uri, sha256, version_id FROM manifest_rows'
        with self._database() as database:
            found = [RowSeen(*row) for row in database.execute(query)]
        return [row for row in found if row.is_of_a_job]

    def uploads(self) -> list[str]:
        """Hidden files whose writers are dead: what ``gc`` ends."""
        return [name for name, _ in abandoned(Layout(self.top).scratch_folder)]

    def spoil(self, key: str) -> None:
        """Other bytes, in the very same file and under its time, as a bad disk has it."""
        path, data = self.top / key, spoilt(self.read(key))
        before = path.stat()
        self.spoiled.add(sha256(data))
        path.write_bytes(data)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def delete(self, key: str) -> None:
        (self.top / key).unlink()

    def delete_row(self, partition: str, window: str) -> None:
        statement = 'DELETE FROM manifest_rows WHERE job_id = ? AND "window" = ?'
        with self._database() as database, database:
            database.execute(statement, (partition, window))

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        path = self.top / MANIFEST
        with closing(sqlite3.connect(path, timeout=_BUSY_S)) as database:
            yield database


def make_folder(folder: Path) -> Folder:
    """Empty folders for sources and outputs."""
    made = Folder(folder / "out", folder / "in")
    made.top.mkdir(parents=True)
    made.sources.mkdir()
    return made
