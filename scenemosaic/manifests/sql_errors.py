"""What a database's error means: try again, give up, or make the schema first. Pure."""

import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError, TimeoutError

from scenemosaic.errors import (
    MissingSchema,
    PermanentStoreError,
    SceneMosaicError,
    TransientStoreError,
    UnreadableRow,
)
from scenemosaic.manifests.sql_postgres_errors import classify_postgres

_SQLITE_TRANSIENT = ("BUSY", "LOCKED", "PROTOCOL", "IOERR", "SCHEMA", "INTERRUPT",
                     # To who may only read: a writer is about to open or to close its log.
                     "READONLY_CANTINIT", "READONLY_CANTLOCK", "READONLY_RECOVERY")  # fmt: skip
_SQLITE_ADVICE = {
    "CANTOPEN": "check that the folder exists and may be read and written; to read alone a log "
    "beside the file (-wal) is in the way, which any command of a user who may write brings in",
    "READONLY": "the file or its folder may not be written",
    "PERM": "the file may not be read or written",
    "FULL": "free some disk space",
    "NOTADB": "the file is not an SQLite database; name another manifest",
    "CORRUPT": "the file is damaged; restore it or name another manifest",
}


def classify(error: SQLAlchemyError, operation: str, url: str) -> SceneMosaicError:
    """The error to raise for ``operation`` on the manifest at ``url`` (without secrets)."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    text = " ".join(str(cause or type(error).__name__).split())
    message = f"{operation} on manifest {url}: {text}"
    if isinstance(cause, sqlite3.Error):
        return _classify_sqlite(cause, message)
    if isinstance(error, DBAPIError):
        return classify_postgres(error, message)
    if isinstance(error, TimeoutError):  # the pool's: every connection is busy
        return TransientStoreError(f"{message}: every connection of this process is busy")
    return PermanentStoreError(message)


def _classify_sqlite(cause: sqlite3.Error, message: str) -> SceneMosaicError:
    # Extended codes start with the basic one: SQLITE_BUSY_SNAPSHOT.
    code = getattr(cause, "sqlite_errorname", "").removeprefix("SQLITE_")
    if code.startswith(_SQLITE_TRANSIENT):
        return TransientStoreError(message)
    if "no such table" in str(cause):
        return MissingSchema(f"{message}; run `scenemosaic init`")
    if "decode to UTF-8" in str(cause):
        return UnreadableRow(f"{message}; remove that row by hand if nothing else needs it")
    advice = _SQLITE_ADVICE.get(code.partition("_")[0], "")
    return PermanentStoreError(f"{message}; {advice}" if advice else message)
