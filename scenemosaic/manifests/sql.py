"""The manifest in SQL: SQLite for one machine, PostgreSQL for several."""

import contextlib
import dataclasses
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from scenemosaic.errors import (
    MissingSchema,
    OldSchema,
    PermanentStoreError,
    TransientStoreError,
)
from scenemosaic.keys import check_probe_partition
from scenemosaic.manifests import sql_engine, sql_schema, sqlite_file
from scenemosaic.manifests.packing import fitted, pack, unpack
from scenemosaic.manifests.port import Existing, Inserted, Outline, Row, Stale, Updated
from scenemosaic.manifests.sql_errors import classify
from scenemosaic.roots import looked_at

if TYPE_CHECKING:
    from scenemosaic.manifests.sql_postgres import Deadlines

# A row may have 64 KB, so a page of rows is 16 MiB at most.
_PAGE_NAMES, _PAGE_ROWS = 1000, 250
_TABLE = sql_schema.rows


class SqlManifest:
    """Rows in the table ``manifest_rows``; see the port for the contract.

    ``busy_s`` is how long SQLite waits for another writer before TransientStoreError,
    ``deadlines`` are PostgreSQL's. Password and query of the URL are never shown.
    ``password`` goes before the URL's. ``sqlite://`` is a database in this object's memory.
    Nothing is opened by the constructor, and nothing but :meth:`ensure` ever makes a file or
    a table. Safe in many threads and after a fork; not to be pickled.
    """

    def __init__(
        self,
        url: str,
        busy_s: float = sqlite_file.BUSY_S,
        deadlines: "Deadlines | None" = None,
        password: str | None = None,
    ) -> None:
        parsed = sql_engine.parse(url)
        if password is not None:
            parsed = parsed.set(password=password)
        self.url = sql_engine.without_secrets(parsed)
        self._file = sqlite_file.database_file(parsed)
        self._make_engine = sql_engine.maker(parsed, busy_s, deadlines)
        self._engine = self._make_engine()
        self._inherited: list[sa.Engine] = []
        self._pid = os.getpid()
        self._after_fork = threading.Lock()
        self._schema_seen = False

    def ensure(self) -> bool:
        """Make folder, file, tables or column where missing; True where it made any."""
        if self.ready():
            return False
        self._make_file()
        with self._transaction("make schema", writes=True, whole=True) as connection:
            sql_schema.lock_for_making(connection)
            made = not sa.inspect(connection).has_table(sql_schema.schema.name)
            sql_schema.metadata.create_all(connection)
            if made:
                connection.execute(
                    sa.insert(sql_schema.schema).values(version=sql_schema.SCHEMA_VERSION)
                )
            elif sql_schema.is_old(connection):
                sql_schema.add_what_is_missing(connection)
                made = True
        return made

    def ready(self) -> bool:
        """Whether the tables are there; makes nothing, not even a file."""
        try:
            self._require_schema()
        except MissingSchema:
            return False
        return True

    def insert(self, row: Row) -> Inserted | Existing:
        self._require_schema()
        statement = sql_schema.insert_if_absent(self._engine.dialect.name, pack(fitted(row)))
        with self._transaction(f"insert {row.window}", writes=True) as connection:
            if connection.execute(statement).rowcount == 1:
                return Inserted()
            existing = _select(connection, row.partition, row.window)
        if existing is None:
            raise TransientStoreError(f"row {row.window} went away while it was inserted")
        return Existing(existing)

    def get(self, partition: str, window: str) -> Row | None:
        self._require_schema()
        with self._transaction(f"get {window}") as connection:
            return _select(connection, partition, window)

    def replace(self, row: Row, revision: int) -> Updated | Stale:
        self._require_schema()
        new = dataclasses.replace(fitted(row), revision=revision + 1)
        statement = (
            sa.update(_TABLE)
            .where(_is_row(row.partition, row.window), _TABLE.c.revision == revision)
            .values(pack(new))
        )
        with self._transaction(f"replace {row.window}", writes=True) as connection:
            if connection.execute(statement).rowcount == 1:
                return Updated(new)
            return Stale(_select(connection, row.partition, row.window))

    def windows(self, partitions: Sequence[str]) -> Iterator[str]:
        return (found["window"] for found in self._pages(partitions, _PAGE_NAMES, _TABLE.c.window))

    def outlines(self, partition: str) -> Iterator[Outline]:
        columns = (_TABLE.c[field.name] for field in dataclasses.fields(Outline))
        return (Outline(**found) for found in self._pages([partition], _PAGE_NAMES, *columns))

    def rows(self, partitions: Sequence[str]) -> Iterator[Row]:
        return (unpack(found) for found in self._pages(partitions, _PAGE_ROWS, *_TABLE.c))

    def uri_elsewhere(self, job_id: str, partitions: Sequence[str]) -> str | None:
        self._require_schema()
        of_job = _TABLE.c.job_id.startswith(f"{job_id}@", autoescape=True)
        statement = (
            sa.select(_TABLE.c.output_uri)
            .where(of_job, _TABLE.c.job_id.not_in(partitions))
            .limit(1)
        )
        with self._transaction("look for rows of other roots") as connection:
            return connection.execute(statement).scalar()

    def delete_probe(self, partition: str, window: str) -> None:
        statement = sa.delete(_TABLE).where(_is_row(check_probe_partition(partition), window))
        with self._transaction(f"delete {window}", writes=True) as connection:
            connection.execute(statement)

    def close(self) -> None:
        # To close what a parent holds open would end the parent's session at the server.
        if os.getpid() == self._pid:
            self._engine.dispose()

    def _pages(
        self, partitions: Sequence[str], page_rows: int, *columns: Any
    ) -> Iterator[dict[str, Any]]:
        """Rows by key, in pages by the last key seen: no transaction outlives a page."""
        self._require_schema()
        for partition in partitions:
            last: str | None = ""
            while last is not None:
                page = self._page(partition, last, page_rows, columns)
                yield from page
                last = page[-1]["window"] if len(page) == page_rows else None

    def _page(
        self, partition: str, after: str, page_rows: int, columns: Any
    ) -> list[dict[str, Any]]:
        statement = (
            sa.select(*columns)
            .where(_TABLE.c.job_id == partition, _TABLE.c.window > after)
            .order_by(_TABLE.c.window)
            .limit(page_rows)
        )
        with self._transaction("list rows") as connection:
            return [dict(found) for found in connection.execute(statement).mappings()]

    def _require_schema(self) -> None:
        if self._schema_seen:
            return
        advice = f"manifest {self.url} is not set up; run `scenemosaic init`"
        if self._file is not None and not looked_at(self._file, Path.exists):
            raise MissingSchema(advice)
        with self._transaction("read schema") as connection:
            if not sa.inspect(connection).has_table(sql_schema.schema.name):
                raise MissingSchema(advice)
            version = connection.execute(sa.select(sa.func.max(sql_schema.schema.c.version)))
            _check_version(version.scalar(), self.url)
            if sql_schema.is_old(connection):
                raise OldSchema(
                    f"manifest {self.url} was made by an earlier version; run `scenemosaic init`, "
                    "which adds the column that it lacks"
                )
        self._schema_seen = True

    def _make_file(self) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.touch(exist_ok=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise PermanentStoreError(f"cannot make manifest {self.url}: {reason}") from error
        with self._mapped("set WAL mode"), self._here().connect() as connection:
            raw = connection.connection.driver_connection
            if raw is not None:
                # Outside a transaction, or SQLite refuses it. The file remembers it.
                _execute_raw(raw, "PRAGMA journal_mode=WAL")

    def _here(self) -> sa.Engine:
        """The engine of this process. One from before a fork is kept, unused and unclosed."""
        if os.getpid() != self._pid:
            # The process that made the engine never holds this lock, so no fork inherits it held.
            with self._after_fork:
                if os.getpid() != self._pid:
                    self._inherited.append(self._engine)
                    self._engine, self._pid = self._make_engine(), os.getpid()
        return self._engine

    @contextlib.contextmanager
    def _transaction(
        self, operation: str, *, writes: bool = False, whole: bool = False
    ) -> Iterator[sa.Connection]:
        """``whole``: several statements are one transaction in PostgreSQL too."""
        options: dict[str, Any] = {"writes": writes}
        if whole and self._engine.dialect.name == "postgresql":
            options["isolation_level"] = "READ COMMITTED"
        with self._mapped(operation), self._here().connect() as connection:
            connection = connection.execution_options(**options)
            with sqlite_file.unchanged(connection), connection.begin():
                yield connection

    @contextlib.contextmanager
    def _mapped(self, operation: str) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise classify(error, operation, self.url) from error


def _execute_raw(connection: Any, statement: str) -> None:
    """A statement past SQLAlchemy, with errors as SQLAlchemy raises them (a full disk, a lock)."""
    try:
        connection.execute(statement)
    except sqlite3.Error as error:
        raise DBAPIError(statement, None, error) from error


def _check_version(found: int | None, url: str) -> None:
    if found != sql_schema.SCHEMA_VERSION:
        raise PermanentStoreError(
            f"manifest {url} has schema version {found}, this scenemosaic knows "
            f"{sql_schema.SCHEMA_VERSION}: use the version that made it"
        )


def _is_row(partition: str, window: str) -> sa.ColumnElement[bool]:
    return sa.and_(_TABLE.c.job_id == partition, _TABLE.c.window == window)


def _select(connection: sa.Connection, partition: str, window: str) -> Row | None:
    found = connection.execute(sa.select(_TABLE).where(_is_row(partition, window)))
    mapping = found.mappings().one_or_none()
    return None if mapping is None else unpack(dict(mapping))
