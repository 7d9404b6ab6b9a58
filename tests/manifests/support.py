"""Adapters under test, each with a back door that bypasses it, and adapters that cheat."""

import contextlib
import dataclasses
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st

from scenemosaic.errors import TransientStoreError
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Existing, Inserted, Manifest, Outline, Row, Stale, Updated
from tests import servers

T = TypeVar("T")
JOB = "0123456789abcdef0123456789abcdef@fedcba987654"
Columns = dict[str, str | int | bytes]


def row(window: str = "0000_0000", partition: str = JOB, **changes: Any) -> Row:
    """A row like those that workers write."""
    return dataclasses.replace(
        Row(
            partition=partition,
            window=window,
            output_uri=f"s3://bucket/tiles/{window}.tif",
            bytes=1_234_567,
            sha256="ab" * 32,
            etag='"9b2cf535f27731c974343645a3985328"',
            version_id="v-1",
            blocks=b"\x00\x01\xff" * 10,
            crc=(0, 4_294_967_295, 17),
            revision=1,
            written_by="run-1",
            written_at="2026-11-29T15:00:00Z",
            software={"scenemosaic": "0.1.0", "gdal": "3.10.3"},
        ),
        **changes,
    )


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=40)
BIG = st.integers(0, 2**63 - 1)
ROWS = st.builds(
    Row,
    partition=st.just(JOB),
    window=st.from_regex(r"[0-9]{4,5}_[0-9]{4,5}|mosaic", fullmatch=True),
    output_uri=TEXT,
    bytes=BIG,
    sha256=st.none() | TEXT,
    etag=TEXT,
    version_id=st.none() | TEXT,
    blocks=st.none() | st.binary(max_size=300),
    crc=st.lists(st.integers(0, 2**32 - 1), max_size=16).map(tuple),
    revision=st.integers(0, 2**63 - 2),  # a replace adds one
    written_by=TEXT,
    written_at=TEXT,
    software=st.dictionaries(TEXT, TEXT, max_size=5),
    waiver=st.none() | TEXT,
)


def until_settled(call: Callable[[], T], attempts: int = 200) -> T:
    """The caller's retry loop in its smallest form: TransientStoreError, and nothing else."""
    for _ in range(attempts - 1):
        with contextlib.suppress(TransientStoreError):
            return call()
    return call()


def at_once(workers: int, call: Callable[[int], T]) -> list[T]:
    """``call(n)`` in ``workers`` threads that start together; their results in order."""
    gate = threading.Barrier(workers)

    def run(number: int) -> T:
        gate.wait(30)
        return call(number)

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(run, range(workers)))


WINDOWS = [f"{number:04d}_0000" for number in range(60)]


def insert_windows(url: str, worker: str) -> "Counter[str]":
    """Insert every window from four threads; runs in a process of its own."""
    manifest = open_manifest(url)
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(
            lambda window: until_settled(lambda: manifest.insert(row(window, written_by=worker))),
            WINDOWS,
        )
        counts = Counter(type(answer).__name__ for answer in answers)
    manifest.close()
    return counts


class Case:
    """One adapter: how to open it, and how to reach its rows without it."""

    def open(self) -> Manifest:
        raise NotImplementedError

    def raw_read(self, partition: str, window: str) -> Columns | None:
        raise NotImplementedError

    def raw_write(self, columns: Columns) -> None:
        raise NotImplementedError

    def untouched(self) -> bool:
        """Whether nothing was made where the manifest would be."""
        raise NotImplementedError


class SqliteCase(Case):
    """A file, read and written by sqlite3 itself."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "deep" / "manifest.db"
        self.url = f"sqlite:///{self.file}"

    def open(self) -> Manifest:
        return open_manifest(self.url)

    @contextlib.contextmanager
    def _database(self) -> Iterator[Any]:
        with contextlib.closing(sqlite3.connect(self.file, timeout=30)) as database, database:
            yield database

    def raw_read(self, partition: str, window: str) -> Columns | None:
        with self._database() as database:
            return sqlite_read(database, partition, window)

    def raw_write(self, columns: Columns) -> None:
        with self._database() as database:
            sqlite_write(database, columns)

    def untouched(self) -> bool:
        return not self.file.parent.exists()


class MemoryCase(Case):
    """``sqlite://``, reached through the one connection that is the database."""

    def __init__(self) -> None:
        self._manifest: Any = None

    def open(self) -> Manifest:
        self._manifest = self._manifest or open_manifest("sqlite://")
        return self._manifest

    @contextlib.contextmanager
    def _database(self) -> Iterator[Any]:
        with contextlib.closing(self._manifest._engine.raw_connection()) as pooled:
            yield pooled.driver_connection

    def raw_read(self, partition: str, window: str) -> Columns | None:
        with self._database() as database:
            return sqlite_read(database, partition, window)

    def raw_write(self, columns: Columns) -> None:
        with self._database() as database:
            sqlite_write(database, columns)

    def untouched(self) -> bool:
        with self._database() as database:
            return database.execute("SELECT * FROM sqlite_master").fetchall() == []


class PostgresCase(Case):
    """A database of PostgreSQL, read and written by psycopg itself."""

    def __init__(self, url: str) -> None:
        self.url = url

    def open(self) -> Manifest:
        return open_manifest(self.url)

    def raw_read(self, partition: str, window: str) -> Columns | None:
        with servers.postgres_connection(self.url) as database:
            cursor = database.execute(
                'SELECT * FROM manifest_rows WHERE job_id = %s AND "window" = %s',
                (partition, window),
            )
            found = cursor.fetchone()
            if found is None:
                return None
            names = (column.name for column in cursor.description or ())
            pairs = zip(names, found, strict=True)
            return {name: value for name, value in pairs if value is not None}

    def raw_write(self, columns: Columns) -> None:
        with servers.postgres_connection(self.url) as database:
            postgres_write(database, columns)

    def untouched(self) -> bool:
        with servers.postgres_connection(self.url) as database:
            found = database.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
            return found.fetchone() == (0,)


class DynamoCase(Case):
    """A table, read and written by a plain client. AWS_ENDPOINT_URL names the server."""

    def __init__(self, endpoint: str, table: str) -> None:
        self.table = table
        self._client = servers.aws_client("dynamodb", endpoint)

    def open(self) -> Manifest:
        return open_manifest(f"dynamodb://{self.table}?region={servers.REGION}")

    def raw_read(self, partition: str, window: str) -> Columns | None:
        key = {"job_id": {"S": partition}, "window": {"S": window}}
        item = self._client.get_item(TableName=self.table, Key=key, ConsistentRead=True).get("Item")
        if item is None:
            return None
        return {
            name: int(value["N"]) if "N" in value else next(iter(value.values()))
            for name, value in item.items()
        }

    def raw_write(self, columns: Columns) -> None:
        kinds = {str: "S", int: "N", bytes: "B"}
        item = {
            name: {kinds[type(value)]: str(value) if isinstance(value, int) else value}
            for name, value in columns.items()
        }
        self._client.put_item(TableName=self.table, Item=item)

    def untouched(self) -> bool:
        return self.table not in self._client.list_tables()["TableNames"]


def postgres_write(database: Any, columns: Columns) -> None:
    """The whole row, over one that stands there: what is not in ``columns`` becomes NULL."""
    fields = (each.name for each in dataclasses.fields(Row))
    names = ["job_id" if name == "partition" else name for name in fields]
    marks = ", ".join(f"%({name})s" for name in names)
    kept = ", ".join(f'"{name}" = excluded."{name}"' for name in names)
    listed = ", ".join(f'"{name}"' for name in names)
    database.execute(
        f"INSERT INTO manifest_rows ({listed}) VALUES ({marks})"
        f' ON CONFLICT (job_id, "window") DO UPDATE SET {kept}',
        {name: columns.get(name) for name in names},
    )


def sqlite_read(database: Any, partition: str, window: str) -> Columns | None:
    cursor = database.execute(
        'SELECT * FROM manifest_rows WHERE job_id = ? AND "window" = ?', (partition, window)
    )
    found = cursor.fetchone()
    if found is None:
        return None
    names = (column[0] for column in cursor.description)
    return {name: value for name, value in zip(names, found, strict=True) if value is not None}


def sqlite_write(database: Any, columns: Columns) -> None:
    names = ", ".join(f'"{name}"' for name in columns)
    marks = ", ".join("?" for _ in columns)
    database.execute(
        f"INSERT OR REPLACE INTO manifest_rows ({names}) VALUES ({marks})", tuple(columns.values())
    )


def columns_of(of: Row) -> Columns:
    """What a row must look like in the store, written without the adapters' code."""
    columns = dataclasses.asdict(of)
    columns["job_id"] = columns.pop("partition")
    columns["crc"] = json.dumps(list(of.crc), separators=(",", ":"))
    columns["software"] = json.dumps(dict(of.software), sort_keys=True, separators=(",", ":"))
    return {name: value for name, value in columns.items() if value is not None}


class Cheat:
    """Base of adapters that break the port's promise; reads are honest."""

    def __init__(self, case: Case) -> None:
        self._case, self._inner = case, case.open()
        self.url = self._inner.url

    def ensure(self) -> bool:
        return self._inner.ensure()

    def ready(self) -> bool:
        return self._inner.ready()

    def get(self, partition: str, window: str) -> Row | None:
        return self._inner.get(partition, window)

    def windows(self, partitions: Sequence[str]) -> Iterator[str]:
        return self._inner.windows(partitions)

    def outlines(self, partition: str) -> Iterator[Outline]:
        return self._inner.outlines(partition)

    def rows(self, partitions: Sequence[str]) -> Iterator[Row]:
        return self._inner.rows(partitions)

    def insert(self, new: Row) -> Inserted | Existing:
        return self._inner.insert(new)

    def replace(self, new: Row, revision: int) -> Updated | Stale:
        return self._inner.replace(new, revision)

    def close(self) -> None:
        self._inner.close()


class IgnoresConditions(Cheat):
    """Writes whatever it is given and says that all went well."""

    def insert(self, new: Row) -> Inserted | Existing:
        self._case.raw_write(columns_of(new))
        return Inserted()

    def replace(self, new: Row, revision: int) -> Updated | Stale:
        new = dataclasses.replace(new, revision=revision + 1)
        self._case.raw_write(columns_of(new))
        return Updated(new)


class ChecksFirst(Cheat):
    """Looks, and then writes: two requests, with room for another worker in between."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self._gap = threading.Barrier(2)

    def insert(self, new: Row) -> Inserted | Existing:
        found = self.get(new.partition, new.window)
        self._let_another_in()
        return Existing(found) if found else IgnoresConditions.insert(self, new)  # type: ignore[arg-type]

    def replace(self, new: Row, revision: int) -> Updated | Stale:
        found = self.get(new.partition, new.window)
        self._let_another_in()
        if found is None or found.revision != revision:
            return Stale(found)
        return IgnoresConditions.replace(self, new, revision)  # type: ignore[arg-type]

    def _let_another_in(self) -> None:
        with contextlib.suppress(threading.BrokenBarrierError):
            self._gap.wait(0.2)
            return
        self._gap.reset()


class CountsOnePage(Cheat):
    """Forgets that answers come in pages."""

    def windows(self, partitions: Sequence[str]) -> Iterator[str]:
        return iter(list(super().windows(partitions))[:250])

    def rows(self, partitions: Sequence[str]) -> Iterator[Row]:
        return iter(list(super().rows(partitions))[:250])


class ForgetsShards(Cheat):
    """Reads the first partition alone."""

    def windows(self, partitions: Sequence[str]) -> Iterator[str]:
        return super().windows(partitions[:1])

    def rows(self, partitions: Sequence[str]) -> Iterator[Row]:
        return super().rows(partitions[:1])
