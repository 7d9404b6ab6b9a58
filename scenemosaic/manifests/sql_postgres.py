"""PostgreSQL's engine: every wait has an end, and one statement is one transaction.

Whoever waits at a server waits for a lock, for a statement, or for a reply that never
comes; the last only the client itself can end.
"""

import os
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa

from scenemosaic.waiting.deadlines import call_s_from

T = TypeVar("T")
# At rest a process holds at most the first number open; a burst of threads, both together.
POOL_SIZE, MAX_OVERFLOW = 4, 4
_TICK_S = 0.1


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds after which each wait ends in TransientStoreError.

    ``connect_s`` holds for each host of the URL, ``lock_s`` and ``statement_s`` are the
    server's, ``reply_s`` is the client's for all replies of one call together, from a server
    or a network that went silent or slow, and ``pool_s`` is the wait for a connection that
    other threads of this process are using.
    """

    connect_s: int = 10
    lock_s: float = 30.0
    statement_s: float = 60.0
    reply_s: float = 75.0
    pool_s: float = 30.0


def make_engine(url: sa.URL, deadlines: Deadlines) -> sa.Engine:
    """An engine that opens nothing yet."""
    engine = sa.create_engine(
        url,
        # Insert, replace and a page are one statement each: one round trip, and no lock is
        # ever held while this process thinks, or has died.
        isolation_level="AUTOCOMMIT",
        client_encoding="utf8",
        hide_parameters=True,
        pool_size=POOL_SIZE,
        max_overflow=MAX_OVERFLOW,
        pool_timeout=deadlines.pool_s,
        pool_pre_ping=True,
        pool_use_lifo=True,
    )

    def connect(_dialect: Any, _record: Any, _args: Any, given: dict[str, Any]) -> Any:
        connection = _Connection.connect(**connect_params(given, deadlines, os.environ))
        connection.reply_s = deadlines.reply_s
        return connection

    sa.event.listen(engine, "do_connect", connect)
    sa.event.listen(engine, "checkout", lambda connection, *_: connection.begin_call())
    sa.event.listen(engine, "checkin", lambda connection, *_: _end_call(connection))
    return engine


def deadlines_from(environment: Mapping[str, str]) -> Deadlines:
    """The defaults, none longer than ``SCENEMOSAIC_CALL_DEADLINE_S`` where that is set."""
    usual = Deadlines()
    call_s = call_s_from(environment)
    if call_s is None:
        return usual
    # Whole seconds are all that libpq knows, and 0 would be for ever.
    connect_s = max(1, min(usual.connect_s, round(call_s)))
    waits = (usual.lock_s, usual.statement_s, usual.reply_s, usual.pool_s)
    return Deadlines(connect_s, *(min(wait_s, call_s) for wait_s in waits))


def _end_call(connection: "_Connection | None") -> None:
    if connection is not None:  # it is None where the connection was found broken
        connection.end_call()


def connect_params(
    given: Mapping[str, Any], deadlines: Deadlines, environ: Mapping[str, str]
) -> dict[str, Any]:
    """The URL's parameters with ours beneath them: URL and environment decide where they speak."""
    ours: dict[str, Any] = {
        "fallback_application_name": "scenemosaic",
        # Prepared statements do not survive a pooler such as PgBouncer.
        "prepare_threshold": None,
    }
    if "PGCONNECT_TIMEOUT" not in environ:
        ours["connect_timeout"] = deadlines.connect_s
    own_options = given.get("options") or environ.get("PGOPTIONS", "")
    return {**ours, **given, "options": f"{_options(deadlines)} {own_options}".rstrip()}


def _options(deadlines: Deadlines) -> str:
    settings = {
        "statement_timeout": round(deadlines.statement_s * 1000),
        "lock_timeout": round(deadlines.lock_s * 1000),
        # Only making the schema opens a transaction; a maker that is stopped must not keep it.
        "idle_in_transaction_session_timeout": round(deadlines.statement_s * 1000),
        # After a conflict the row must be seen, whatever the database's default is.
        "default_transaction_isolation": r"read\ committed",
    }
    return " ".join(f"-c {name}={value}" for name, value in settings.items())


class _Connection(psycopg.Connection[Any]):
    """A connection that ends itself where a call's replies take longer than ``reply_s``."""

    reply_s: float  # set as soon as it is connected
    _end: float | None = None

    def begin_call(self) -> None:
        self._end = time.monotonic() + self.reply_s

    def end_call(self) -> None:
        self._end = None

    def wait(
        self,
        gen: Generator[Any, Any, T],
        interval: float = _TICK_S,
        timeout: float | None = None,
    ) -> T:
        more = {} if timeout is None else {"timeout": timeout}  # not in psycopg 3.2
        try:
            end = self._end or time.monotonic() + self.reply_s
            return super().wait(self._until(end, gen), interval, **more)
        except _Silence:
            self.close()  # its state is unknown
            raise

    def _until(self, end: float, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        """``gen`` as it is, given up at ``end``: psycopg asks it at every tick."""
        try:
            state = next(gen)
            while True:
                ready = yield state
                if time.monotonic() > end:
                    raise _Silence(f"no reply from the server within {self.reply_s:g} s")
                state = gen.send(ready)
        except StopIteration as done:
            value: T = done.value
            return value


class _Silence(psycopg.OperationalError):
    """The reply did not come in time; what was asked may have been done."""
