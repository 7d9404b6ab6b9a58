"""The tables of the SQL manifest, and how an engine for them is opened."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

SCHEMA_VERSION = 1
BUSY_S = 30.0
# Any number will do, as long as every maker of this schema takes the same.
_SCHEMA_LOCK = 0x5CE4E305A1C

metadata = sa.MetaData()
# Sort keys compare byte by byte, which is not PostgreSQL's default.
_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

schema = sa.Table(
    "manifest_schema",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
)
rows = sa.Table(
    "manifest_rows",
    metadata,
    sa.Column("job_id", _KEY, primary_key=True),
    sa.Column("window", _KEY, primary_key=True, quote=True),
    sa.Column("output_uri", sa.Text, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("sha256", sa.Text),
    sa.Column("etag", sa.Text, nullable=False),
    sa.Column("version_id", sa.Text),
    sa.Column("blocks", sa.LargeBinary),
    sa.Column("crc", sa.Text, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("written_by", sa.Text, nullable=False),
    sa.Column("written_at", sa.Text, nullable=False),
    sa.Column("software", sa.Text, nullable=False),
    sa.Column("waiver", sa.Text),
)


def database_file(url: sa.URL) -> Path | None:
    """The SQLite file of a URL, absolute; None for a database in memory or on a server."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database)).absolute()


def make_engine(url: sa.URL, busy_s: float) -> sa.Engine:
    """An SQLite engine that opens nothing yet, and never creates a file."""
    file = database_file(url)
    # One shared connection is the whole of a database in memory; a file's pool never waits.
    pool_size, max_overflow = (1, 0) if file is None else (4, -1)
    engine = sa.create_engine(
        "sqlite://",
        creator=lambda: _connect(file, busy_s),
        poolclass=QueuePool,
        hide_parameters=True,
        pool_size=pool_size,
        max_overflow=max_overflow,
    )
    sa.event.listen(engine, "begin", _begin)
    return engine


def _connect(file: Path | None, busy_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        _name(file), uri=True, timeout=busy_s, isolation_level=None, check_same_thread=False
    )


def _name(file: Path | None) -> str:
    if file is None:
        return "file::memory:"
    # mode=rw: a file that is not there is an error, never an empty database.
    return f"{file.as_uri()}?{'mode=ro&immutable=1' if _is_frozen(file) else 'mode=rw'}"


def _is_frozen(file: Path) -> bool:
    """Whether nobody can change the file here: SQLite reads it then without files beside it.

    Not where a log of writes lies there: rows in it would be missed.
    """
    log = file.with_name(f"{file.name}-wal")
    try:
        mounted = os.statvfs(file.parent).f_flag
        return bool(mounted & os.ST_RDONLY) and not (log.exists() and log.stat().st_size)
    except OSError:
        return False


def _begin(connection: sa.Connection) -> None:
    # A deferred transaction that turns into a write can fail at once with SQLITE_BUSY.
    mode = "IMMEDIATE" if connection.get_execution_options().get("writes") else "DEFERRED"
    connection.exec_driver_sql(f"BEGIN {mode}")


def insert_if_absent(dialect: str, values: dict[str, Any]) -> sa.Executable:
    """INSERT … ON CONFLICT DO NOTHING for SQLite and PostgreSQL; its rowcount says who won."""
    statement: sa.Insert
    if dialect == "sqlite":
        from sqlalchemy.dialects import sqlite

        statement = sqlite.insert(rows).values(values).on_conflict_do_nothing()
    else:  # its import takes as long as a hundred rows of SQLite
        from sqlalchemy.dialects import postgresql

        statement = postgresql.insert(rows).values(values).on_conflict_do_nothing()
    # Without it SQLAlchemy answers -1 for an INSERT on PostgreSQL.
    return statement.execution_options(preserve_rowcount=True)


def is_old(connection: sa.Connection) -> bool:
    """Whether an earlier version made the table of rows."""
    try:
        found = sa.inspect(connection).get_columns(rows.name)
    except sa.exc.NoSuchTableError:
        return False
    return all(column["name"] != "waiver" for column in found)


def add_what_is_missing(connection: sa.Connection) -> None:
    """Add the column that earlier versions did not know; their rows have NULL there."""
    connection.exec_driver_sql("ALTER TABLE manifest_rows ADD COLUMN waiver TEXT")


def lock_for_making(connection: sa.Connection) -> None:
    """Let one maker in at a time: PostgreSQL's IF NOT EXISTS fails where two of them race."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
