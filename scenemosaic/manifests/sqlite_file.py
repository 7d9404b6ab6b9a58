"""SQLite's file: how it is opened, by who may write there and by who may only read."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DisconnectionError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from scenemosaic.errors import SceneMosaicError, TransientStoreError

BUSY_S = 30.0
# What SQLite has yet to bring into the file.
_LOGS = ("-wal", "-journal")
State = tuple[int, int, int]


class _Connection(sqlite3.Connection):
    """``seen``: the file as it was when this began to read it without locks; None with locks."""

    file: Path | None = None
    seen: State | None = None


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
    sa.event.listen(engine, "checkout", _check_newest)
    return engine


@contextlib.contextmanager
def unchanged(connection: sa.Connection) -> Iterator[None]:
    """What is read within is of one state of the file, or TransientStoreError is raised."""
    try:
        yield
    except (SQLAlchemyError, SceneMosaicError):  # it may come of two states read as one
        _check_unchanged(connection)
        raise
    _check_unchanged(connection)


def _connect(file: Path | None, busy_s: float) -> _Connection:
    seen = None if file is None else _at_rest(file)
    connection = sqlite3.connect(
        _name(file, seen),
        uri=True,
        timeout=busy_s,
        isolation_level=None,
        check_same_thread=False,
        factory=_Connection,
    )
    connection.file, connection.seen = file, seen
    return connection


def _name(file: Path | None, seen: State | None) -> str:
    if file is None:
        return "file::memory:"
    # mode=rw: a file that is not there is an error, never an empty database.
    return f"{file.as_uri()}?{'mode=rw' if seen is None else 'mode=ro&immutable=1'}"


def _at_rest(file: Path) -> State | None:
    """The file's state where it can and must be read without SQLite's own files beside it.

    It must where we cannot make these. It can where there is no log: rows in it would be missed.
    With a log, SQLite reads by way of the files that the log's writer has made.
    """
    if _may_write(file) and _may_write(file.parent):
        return None
    state = _state(file)  # before the logs: what a writer brings in from now on changes it
    return None if any(map(_holds_something, _logs(file))) else state


def _may_write(path: Path) -> bool:
    # Of a file system that is mounted read-only the answer is no, to root as well.
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _state(file: Path) -> State | None:
    try:
        status = file.stat()
    except OSError:  # what is wrong with it, SQLite says
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _logs(file: Path) -> Iterator[Path]:
    return (file.with_name(file.name + ending) for ending in _LOGS)


def _holds_something(log: Path) -> bool:
    try:
        return log.stat().st_size > 0
    except OSError:
        return False


def _begin(connection: sa.Connection) -> None:
    # A deferred transaction that turns into a write can fail at once with SQLITE_BUSY.
    mode = "IMMEDIATE" if connection.get_execution_options().get("writes") else "DEFERRED"
    connection.exec_driver_sql(f"BEGIN {mode}")


def _check_newest(connection: Any, record: Any, proxy: Any) -> None:
    """A connection that reads without locks serves as long as nobody else has written."""
    file, seen = connection.file, connection.seen
    if seen is not None and _at_rest(file) != seen:
        raise DisconnectionError  # SQLAlchemy opens another


def _check_unchanged(connection: sa.Connection) -> None:
    raw = connection.connection.driver_connection
    if not isinstance(raw, _Connection) or raw.file is None or raw.seen is None:
        return
    if _state(raw.file) != raw.seen:
        raise TransientStoreError(f"{raw.file} was written to while it was read; try again")
