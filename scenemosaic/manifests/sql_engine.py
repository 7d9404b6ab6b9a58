"""From a URL to the engine of its database."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from scenemosaic.errors import InputError
from scenemosaic.manifests import sqlite_file

if TYPE_CHECKING:
    from scenemosaic.manifests.sql_postgres import Deadlines

_DRIVERS = ("sqlite", "sqlite+pysqlite", "postgresql+psycopg")


def parse(url: str) -> sa.URL:
    """The URL of a database that is spoken to; InputError, which never repeats the URL."""
    try:
        parsed = sa.make_url(url)
    except (ArgumentError, ValueError):
        # Not chained: what could not be read may hold a piece of a password.
        parsed = None
    if parsed is None or "@" in (parsed.host or ""):
        raise InputError(
            "a manifest is sqlite:///file.db or postgresql+psycopg://user@host:port/database, "
            "with % and @ / : in a user or password percent-encoded"
        )
    if parsed.drivername not in _DRIVERS:
        raise InputError(f"no manifest for {parsed.drivername}://; use {', '.join(_DRIVERS)}")
    return parsed


def maker(url: sa.URL, busy_s: float, deadlines: "Deadlines | None") -> Callable[[], sa.Engine]:
    """What makes an engine of ``url``, once for each process. InputError where it cannot be."""
    if url.get_backend_name() == "sqlite":
        return lambda: sqlite_file.make_engine(url, busy_s)
    try:
        from scenemosaic.manifests import sql_postgres
    except ImportError as error:
        raise InputError(
            f"{without_secrets(url)}: psycopg cannot be imported ({error}); "
            "pip install 'scenemosaic[postgresql]'"
        ) from error
    chosen = deadlines or sql_postgres.deadlines_from(os.environ)
    return lambda: sql_postgres.make_engine(url, chosen)


def without_secrets(url: sa.URL) -> str:
    """The URL to show."""
    # A query can hold a password too.
    return url.set(query={}).render_as_string(hide_password=True)
