"""What is SQL's alone: files, locks, processes, and what a database's errors mean."""

import contextlib
import multiprocessing
import os
import sqlite3
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, TimeoutError
from sqlalchemy.schema import CreateTable

from scenemosaic.errors import (
    MissingSchema,
    PermanentStoreError,
    StoreError,
    TransientStoreError,
)
from scenemosaic.manifests import open_manifest, sql, sql_schema
from scenemosaic.manifests.packing import pack
from scenemosaic.manifests.port import Existing, Inserted, Updated
from scenemosaic.manifests.sql import SqlManifest
from scenemosaic.manifests.sql_errors import classify
from tests.manifests.support import JOB, WINDOWS, insert_windows, row
from tests.otheruser import open_folder, seen_by_reader


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/manifest.db"


def may_only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system that is mounted read-only."""
    real = os.access

    def said(path: Path, mode: int, **options: bool) -> bool:
        return not mode & os.W_OK and real(path, mode, **options)

    monkeypatch.setattr(os, "access", said)


def refusal(manifest: SqlManifest) -> str:
    try:
        manifest.insert(row("0000_0009"))
    except PermanentStoreError as error:
        return str(error)
    return ""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_user_who_may_only_read_reads() -> None:
    with open_folder() as folder:
        url = f"sqlite:///{folder}/manifest.db"
        writer = SqlManifest(url)
        writer.ensure()
        writer.insert(row("0000_0000"))

        def look() -> list[object]:
            reader = SqlManifest(url)
            return [reader.ensure(), list(reader.windows([JOB])), refusal(reader)]

        with_log = seen_by_reader(folder, look)
        writer.close()
        assert names(folder) == {"manifest.db"}
        without_log = seen_by_reader(folder, look)
        assert names(folder) == {"manifest.db"}
    for made, windows, refused in (with_log, without_log):
        assert (made, windows) == (False, ["0000_0000"])
        assert "may not be written" in refused


def test_an_archive_that_is_mounted_read_only_can_be_read(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = open_manifest(url)
    manifest.ensure()
    manifest.insert(row("0000_0000"))
    manifest.close()
    may_only_read(monkeypatch)
    archive = SqlManifest(url)
    assert not archive.ensure()
    assert list(archive.windows([JOB])) == ["0000_0000"]
    # SQLite's own files beside it cannot be made there.
    assert names(tmp_path) == {"manifest.db"}
    assert "may not be written" in refusal(archive)


def test_rows_in_a_log_are_not_missed_where_nothing_may_be_written(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = open_manifest(url)
    writer.ensure()
    writer.insert(row("0000_0000"))  # and stays open: it is in the log alone
    may_only_read(monkeypatch)
    assert list(open_manifest(url).windows([JOB])) == ["0000_0000"]


@pytest.mark.parametrize("stays_open", [True, False])
def test_a_reader_sees_what_is_written_after_it_began(
    url: str, monkeypatch: pytest.MonkeyPatch, stays_open: bool
) -> None:
    writer = SqlManifest(url)
    writer.ensure()
    writer.close()
    with monkeypatch.context() as patched:
        may_only_read(patched)
        reader = SqlManifest(url)
        assert list(reader.windows([JOB])) == []
    writer.insert(row("0000_0000"))
    if not stays_open:
        writer.close()
    may_only_read(monkeypatch)
    assert list(reader.windows([JOB])) == ["0000_0000"]


@pytest.mark.parametrize("torn", [False, True])
def test_what_changes_while_it_is_read_without_locks_is_read_again(
    url: str, monkeypatch: pytest.MonkeyPatch, torn: bool
) -> None:
    writer = SqlManifest(url)
    writer.ensure()
    writer.close()
    real = sql._select

    def slow(connection: sa.Connection, *key: str) -> object:
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as other:
            other.execute("CREATE TABLE IF NOT EXISTS mine (a)")
        if torn:
            raise sqlite_error("SQLITE_CORRUPT")
        return real(connection, *key)

    monkeypatch.setattr(sql, "_select", slow)
    may_only_read(monkeypatch)
    reader = SqlManifest(url)
    with pytest.raises(TransientStoreError, match="written to while it was read"):
        reader.get(JOB, "0000_0000")
    if not torn:  # the other writer changes nothing more
        assert reader.get(JOB, "0000_0000") is None


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_many_processes_and_threads_write_one_file(url: str, method: str):
    manifest = open_manifest(url)
    manifest.ensure()
    manifest.insert(row("mosaic"))
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(4, mp_context=context) as pool:
        counts = sum(pool.map(insert_windows, [url] * 4, "abcd"), Counter())
    assert counts == {"Inserted": len(WINDOWS), "Existing": 3 * len(WINDOWS)}
    assert list(manifest.windows([JOB])) == [*WINDOWS, "mosaic"]


def test_an_open_manifest_goes_through_a_fork(url: str):
    manifest = open_manifest(url)
    manifest.ensure()
    manifest.insert(row("0000_0000"))
    child = os.fork()
    if child == 0:
        ok = manifest.insert(row("0000_0001")) == Inserted()
        ok &= isinstance(manifest.insert(row("0000_0000")), Existing)
        os._exit(0 if ok else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    manifest.insert(row("0000_0002"))
    assert list(manifest.windows([JOB])) == ["0000_0000", "0000_0001", "0000_0002"]


def test_writers_do_not_wait_for_a_reader_half_way(url: str):
    manifest = open_manifest(url)
    manifest.ensure()
    manifest.insert(row("0000_0000"))
    reading = manifest.windows([JOB])
    next(reading)
    assert manifest.insert(row("0000_0001")) == Inserted()
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_lock_that_stays_is_transient(url: str, tmp_path: Path):
    manifest = SqlManifest(url, busy_s=0.01)
    manifest.ensure()
    with contextlib.closing(sqlite3.connect(tmp_path / "manifest.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TransientStoreError, match=r"insert 0000_0000.*manifest\.db.*locked"):
            manifest.insert(row())
        with pytest.raises(TransientStoreError, match="locked"):
            manifest.replace(row(), 1)
        assert manifest.get(JOB, "0000_0000") is None
    assert manifest.insert(row()) == Inserted()


def test_a_relative_file_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    manifest = open_manifest("sqlite:///manifest.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    manifest.ensure()
    assert (tmp_path / "manifest.db").exists()


def test_a_name_full_of_signs_is_a_file_name(tmp_path: Path):
    folder = tmp_path / "50 % of #1 é"
    manifest = open_manifest(f"sqlite:///{folder}/manifest.db")
    manifest.ensure()
    manifest.insert(row())
    assert (folder / "manifest.db").exists()


def test_tables_are_added_to_a_database_that_has_others(url: str, tmp_path: Path):
    with contextlib.closing(sqlite3.connect(tmp_path / "manifest.db")) as database:
        database.execute("CREATE TABLE other (x)")
    manifest = open_manifest(url)
    assert manifest.ready() is False
    with pytest.raises(MissingSchema, match="scenemosaic init"):
        manifest.get(JOB, "0000_0000")
    assert manifest.ensure() is True
    assert manifest.insert(row()) == Inserted()


def test_a_schema_of_another_version_is_refused(url: str, tmp_path: Path):
    open_manifest(url).ensure()
    with contextlib.closing(sqlite3.connect(tmp_path / "manifest.db")) as database, database:
        database.execute("UPDATE manifest_schema SET version = 99")
    for call in (open_manifest(url).ready, open_manifest(url).ensure):
        with pytest.raises(PermanentStoreError, match="schema version 99"):
            call()


def test_a_table_that_went_away_is_a_missing_schema(url: str, tmp_path: Path):
    manifest = open_manifest(url)
    manifest.ensure()
    with contextlib.closing(sqlite3.connect(tmp_path / "manifest.db")) as database, database:
        database.execute("DROP TABLE manifest_rows")
    with pytest.raises(MissingSchema, match="scenemosaic init"):
        manifest.insert(row())


def test_a_file_that_is_no_database_is_permanent(url: str, tmp_path: Path):
    (tmp_path / "manifest.db").write_bytes(b"no database at all" * 100)
    for call in (open_manifest(url).ready, open_manifest(url).ensure):
        with pytest.raises(PermanentStoreError, match="not an SQLite database"):
            call()
    assert (tmp_path / "manifest.db").read_bytes() == b"no database at all" * 100


def test_a_folder_that_cannot_be_made_is_permanent(tmp_path: Path):
    (tmp_path / "file").write_text("")
    manifest = open_manifest(f"sqlite:///{tmp_path}/file/manifest.db")
    with pytest.raises(PermanentStoreError, match=r"cannot make manifest.*manifest\.db"):
        manifest.ensure()


def test_a_folder_in_place_of_the_file_is_permanent(url: str, tmp_path: Path):
    (tmp_path / "manifest.db").mkdir()
    with pytest.raises(PermanentStoreError, match="unable to open"):
        open_manifest(url).ready()


def test_a_password_is_never_shown():
    manifest = open_manifest("postgresql+psycopg://user:s3cret@127.0.0.1:1/db?password=s3cret")
    assert "s3cret" not in manifest.url + repr(manifest)
    assert "127.0.0.1" in manifest.url


def test_a_database_server_that_is_away_is_transient():
    manifest = open_manifest("postgresql+psycopg://user:s3cret@127.0.0.1:1/db")
    with pytest.raises(TransientStoreError) as caught:
        manifest.ready()
    assert "s3cret" not in str(caught.value)


def sqlite_error(name: str, text: str = "text") -> DBAPIError:
    cause = sqlite3.OperationalError(text)
    cause.sqlite_errorname = name
    return DBAPIError("SELECT", None, cause)


def postgres_error(state: str | None, *, invalidated: bool = False) -> DBAPIError:
    kind = type("OperationalError", (Exception,), {"sqlstate": state})
    return DBAPIError("SELECT", None, kind("text"), connection_invalidated=invalidated)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (sqlite_error("SQLITE_BUSY"), TransientStoreError),
        (sqlite_error("SQLITE_BUSY_SNAPSHOT"), TransientStoreError),
        (sqlite_error("SQLITE_LOCKED"), TransientStoreError),
        (sqlite_error("SQLITE_IOERR_FSYNC"), TransientStoreError),
        (sqlite_error("SQLITE_READONLY_CANTINIT"), TransientStoreError),
        (sqlite_error("SQLITE_CANTOPEN"), PermanentStoreError),
        (sqlite_error("SQLITE_READONLY_DBMOVED"), PermanentStoreError),
        (sqlite_error("SQLITE_FULL"), PermanentStoreError),
        (sqlite_error("SQLITE_NOTADB"), PermanentStoreError),
        (sqlite_error("SQLITE_ERROR"), PermanentStoreError),
        (sqlite_error("SQLITE_ERROR", "no such table: manifest_rows"), MissingSchema),
        (postgres_error("42P01"), MissingSchema),
        (postgres_error("40001"), TransientStoreError),
        (postgres_error("57P01"), TransientStoreError),
        (postgres_error("53300"), TransientStoreError),
        (postgres_error(None), TransientStoreError),
        (postgres_error("XX000", invalidated=True), TransientStoreError),
        (postgres_error("53100"), PermanentStoreError),
        (postgres_error("42501"), PermanentStoreError),
        (postgres_error("28P01"), PermanentStoreError),
        (TimeoutError(), TransientStoreError),
    ],
)
def test_an_error_means(error: DBAPIError, kind: type[StoreError]):
    meant = classify(error, "insert 0000_0000", "sqlite:///m.db")
    assert type(meant) is kind
    assert "insert 0000_0000 on manifest sqlite:///m.db" in str(meant)


def test_the_statements_suit_postgresql():
    dialect = postgresql.dialect()
    insert = str(sql_schema.insert_if_absent("postgresql", pack(row())).compile(dialect=dialect))
    assert insert.endswith("ON CONFLICT DO NOTHING")
    assert '"window"' in insert
    table = str(CreateTable(sql_schema.rows).compile(dialect=dialect))
    assert '"window" TEXT COLLATE "C" NOT NULL' in table
    assert "blocks BYTEA" in table


def test_revisions_stay_exact_beyond_floats(url: str):
    manifest = open_manifest(url)
    manifest.ensure()
    manifest.insert(row(revision=2**53))
    assert isinstance(manifest.replace(row(), 2**53), Updated)
    assert manifest.get(JOB, "0000_0000") == row(revision=2**53 + 1)


def test_a_raw_error_of_sqlite_is_a_store_error() -> None:
    class Full:
        def execute(self, statement: str) -> None:
            raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(DBAPIError) as caught:
        sql._execute_raw(Full(), "PRAGMA journal_mode=WAL")
    found = classify(caught.value, "set WAL mode", "sqlite:///m.db")
    assert isinstance(found, PermanentStoreError)
    assert "disk is full" in str(found)
