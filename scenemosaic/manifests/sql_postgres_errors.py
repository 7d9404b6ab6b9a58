"""What PostgreSQL's errors mean, by SQLSTATE, and by text where there is none. Pure."""

import re

from sqlalchemy.exc import DBAPIError

from scenemosaic.errors import MissingSchema, PermanentStoreError, StoreError, TransientStoreError

# SQLSTATE classes and codes that a later attempt may not see: connection, rollback
# (serialisation, deadlock), resources, operator, lock, system, read-only (while a standby
# takes over), idle in a transaction, and a table that another process is making now.
_TRANSIENT = ("08", "25006", "25P03", "40", "53", "55P03", "57", "58", "23505", "42P07")
_PERMANENT = {
    "28": "check user, password and pg_hba.conf",
    "3D000": "make the database first, or name another",
    "3F000": "make the schema that search_path names",
    "42501": "grant the role USAGE and CREATE on the schema, or let its owner run "
    "`scenemosaic init` and grant SELECT, INSERT, UPDATE and DELETE on the tables",
    "42703": "the table was not made by this pipeline; name another database or schema",
    "53100": "free some disk space on the database's server",
    "57P04": "the database was dropped",
}
_UNDEFINED_TABLE = "42P01"
# libpq gives no SQLSTATE to a connection that never came about. Where the server speaks
# another language, none of these match and the caller's bounded retries end it.
_REFUSED = (
    (re.compile(r"authentication failed|no password supplied"), "28"),
    (re.compile(r"no pg_hba\.conf entry|pg_hba\.conf rejects"), "28"),
    (re.compile(r'role "[^"]*" (does not exist|is not permitted to log in)'), "28"),
    (re.compile(r'database "[^"]*" (does not exist|is not currently accepting)'), "3D000"),
    (re.compile(r"permission denied for database"), "42501"),
    (re.compile(r"unrecognized configuration parameter|invalid value for parameter"), ""),
    (re.compile(r"unsupported startup parameter|invalid connection option"), ""),
    (re.compile(r"SSL was required|certificate verify failed|root certificate file"), ""),
)


def classify_postgres(error: DBAPIError, message: str) -> StoreError:
    """The error to raise: MissingSchema, Permanent with what to do, or Transient."""
    state = getattr(error.orig, "sqlstate", None) or ""
    if state == _UNDEFINED_TABLE:
        return MissingSchema(f"{message}; run `scenemosaic init`")
    if not state:
        return _classify_connection(error, message)
    advice = _PERMANENT.get(state) or _PERMANENT.get(state[:2])
    if advice is not None:
        return PermanentStoreError(f"{message}; {advice}")
    if error.connection_invalidated or state.startswith(_TRANSIENT):
        return TransientStoreError(message)
    return PermanentStoreError(message)


def _classify_connection(error: DBAPIError, message: str) -> StoreError:
    if type(error.orig).__name__ in ("ProgrammingError", "DataError", "NotSupportedError"):
        return PermanentStoreError(message)
    # Several hosts, or one tried with and without TLS, make one text: permanent only where
    # every one of them refused.
    failures = [line for line in str(error.orig).splitlines() if "failed:" in line] or [message]
    refusals = [_refusal(line) for line in failures]
    if refusals[0] is None or None in refusals:
        return TransientStoreError(message)
    return PermanentStoreError(f"{message}; {refusals[0]}".removesuffix("; "))


def _refusal(text: str) -> str | None:
    """What to do about a refusal to connect, empty where the text says all; None for no refusal."""
    for pattern, state in _REFUSED:
        if pattern.search(text):
            return _PERMANENT.get(state, "")
    return None
