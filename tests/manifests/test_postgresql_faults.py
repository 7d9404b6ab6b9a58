"""PostgreSQL: what its errors mean, deadlines, lost replies, and a server that is killed."""

import contextlib
import socket
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from scenemosaic.committing.commit import RetryPolicy, commit_row
from scenemosaic.errors import (
    InputError,
    MissingSchema,
    PermanentStoreError,
    StoreError,
    TransientStoreError,
)
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Existing, Inserted, Stale, Updated
from scenemosaic.manifests.sql import SqlManifest
from scenemosaic.manifests.sql_errors import classify
from scenemosaic.manifests.sql_postgres import Deadlines
from scenemosaic.waiting.retry import Effects, system_effects
from tests import servers
from tests.manifests import conformance
from tests.manifests.support import (
    JOB,
    PostgresCase,
    at_once,
    columns_of,
    postgres_write,
    row,
    until_settled,
)
from tests.manifests.tcp_proxy import Fault, TcpProxy, first

INSERT, UPDATE = b"INSERT INTO manifest_rows", b"UPDATE manifest_rows"
LONG = RetryPolicy(attempts=2000, base_s=0.005, cap_s=0.05, deadline_s=60)
QUICK = Deadlines(reply_s=0.5)


def without_pauses(sleep: Callable[[float], None] = lambda _seconds: None) -> Effects:
    return Effects(clock=lambda: 0.0, sleep=sleep, random=lambda: 0.0)


@pytest.fixture
def case(postgres_url: str) -> PostgresCase:
    return PostgresCase(postgres_url)


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[TcpProxy]:
    port = int(postgres_url.rpartition("/")[0].rpartition(":")[2])
    with TcpProxy(port) as running:
        yield running


@pytest.fixture
def manifest(postgres_url: str, proxy: TcpProxy) -> Iterator[SqlManifest]:
    """Reached through the proxy; gives up on silence after half a second."""
    opened = SqlManifest(through(postgres_url, proxy.port), deadlines=QUICK)
    opened.ensure()
    yield opened
    opened.close()


def through(url: str, port: int) -> str:
    server, _, database = url.rpartition("/")
    return f"{server.rpartition(':')[0]}:{port}/{database}"


@pytest.mark.parametrize("fault", [Fault.LOSE_REPLY, Fault.SILENCE])
def test_a_lost_reply_to_an_insert_is_ambiguous_and_then_our_own_row(
    manifest: SqlManifest, case: PostgresCase, proxy: TcpProxy, fault: Fault
):
    proxy.rule = first(fault, INSERT)
    with pytest.raises(TransientStoreError, match=r"insert 0000_0000 on manifest postgresql"):
        manifest.insert(row())
    assert case.raw_read(JOB, "0000_0000") == columns_of(row())
    assert manifest.insert(row()) == Existing(row())

    proxy.rule = first(fault, INSERT)
    assert commit_row(manifest, row("0000_0001"), LONG, without_pauses()) == Inserted()
    assert len(list(manifest.rows([JOB]))) == 2


def test_a_lost_request_to_insert_is_transient_and_the_next_one_lands(
    manifest: SqlManifest, case: PostgresCase, proxy: TcpProxy
):
    proxy.rule = first(Fault.LOSE_REQUEST, INSERT)
    with pytest.raises(TransientStoreError):
        manifest.insert(row())
    assert case.raw_read(JOB, "0000_0000") is None
    assert manifest.insert(row()) == Inserted()


@pytest.mark.parametrize("fault", [Fault.LOSE_REPLY, Fault.SILENCE])
def test_a_lost_reply_to_a_replace_is_ambiguous(
    manifest: SqlManifest, proxy: TcpProxy, fault: Fault
):
    manifest.insert(row())
    proxy.rule = first(fault, UPDATE)
    with pytest.raises(TransientStoreError, match="replace 0000_0000"):
        manifest.replace(row(etag="new"), 1)
    assert manifest.replace(row(etag="new"), 1) == Stale(row(etag="new", revision=2))


@pytest.mark.parametrize("fault", [Fault.LOSE_REPLY, Fault.SILENCE])
def test_a_lost_reply_to_making_the_schema_is_made_up_for(
    postgres_url: str, proxy: TcpProxy, fault: Fault
):
    manifest = SqlManifest(through(postgres_url, proxy.port), deadlines=QUICK)
    for marker in (b"CREATE TABLE", b"INSERT INTO manifest_schema", b"COMMIT"):
        proxy.rule = first(fault, marker)
        with pytest.raises(TransientStoreError):
            manifest.ensure()
        # The server notices the silent client's end by itself: its lock must not outlive it.
        until_settled(manifest.ready)
    proxy.rule = first(fault, b"nothing")
    until_settled(manifest.ensure)
    assert manifest.insert(row()) == Inserted()
    manifest.close()


def test_every_reply_to_an_insert_lost_is_given_up_with_the_row_in_place(
    manifest: SqlManifest, case: PostgresCase, proxy: TcpProxy
):
    proxy.rule = first(Fault.LOSE_REPLY, INSERT, times=10**6)
    with pytest.raises(TransientStoreError):
        commit_row(manifest, row(), RetryPolicy(attempts=3), without_pauses())
    assert case.raw_read(JOB, "0000_0000") == columns_of(row())


def test_a_fifth_of_the_replies_lost_loses_and_doubles_nothing(
    manifest: SqlManifest, proxy: TcpProxy
):
    counter, lock = iter(range(10**9)), threading.Lock()

    def every_fifth(message: bytes) -> Fault | None:
        if INSERT not in message:
            return None
        with lock:
            return Fault.LOSE_REPLY if next(counter) % 5 == 0 else None

    proxy.rule = every_fifth
    entries = [row(f"{number:04d}_0000", written_by=f"w{number}") for number in range(200)]

    def work(number: int) -> list[object]:
        return [commit_row(manifest, each, LONG, system_effects()) for each in entries[number::8]]

    answers = [answer for answers in at_once(8, work) for answer in answers]
    assert answers == [Inserted()] * 200
    assert next(counter) > 200
    assert list(manifest.rows([JOB])) == entries


def test_an_insert_given_up_that_lands_later_is_still_ours(
    postgres_url: str, manifest: SqlManifest
):
    """The first request waits in the server behind a lock, and lives on without its client."""
    with servers.postgres_connection(postgres_url) as holder:
        holder.execute("BEGIN")
        postgres_write(holder, columns_of(row(written_by="another")))
        pauses: list[float] = []

        def let_go(seconds: float) -> None:
            pauses.append(seconds)
            holder.execute("ROLLBACK")

        assert commit_row(manifest, row(), LONG, without_pauses(let_go)) == Inserted()
    assert pauses
    assert list(manifest.rows([JOB])) == [row()]


def test_a_server_that_is_silent_from_the_start_meets_the_deadline():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql+psycopg://u:s3cret@127.0.0.1:{silent.getsockname()[1]}/db"
        manifest = SqlManifest(url, deadlines=Deadlines(connect_s=2))
        with pytest.raises(TransientStoreError, match="timeout"):
            manifest.ready()


@pytest.mark.parametrize(
    ("deadlines", "reason"),
    [
        (Deadlines(lock_s=0.1), "lock timeout"),
        (Deadlines(statement_s=0.1), "statement timeout"),
        (Deadlines(reply_s=0.1), "no reply from the server within 0.1 s"),
    ],
)
def test_a_lock_that_stays_meets_each_deadline(
    postgres_url: str, deadlines: Deadlines, reason: str
):
    manifest = SqlManifest(postgres_url, deadlines=deadlines)
    until_settled(manifest.ensure)
    with servers.postgres_connection(postgres_url) as holder:
        holder.execute("BEGIN")
        holder.execute("LOCK TABLE manifest_rows")
        for call in (
            lambda: manifest.insert(row()),
            lambda: manifest.replace(row(), 1),
            lambda: list(manifest.windows([JOB])),
        ):
            with pytest.raises(TransientStoreError, match=reason):
                call()
    # What was given up may land now, an insert and a replace of it too; never a second row.
    until_settled(lambda: manifest.insert(row()))
    assert until_settled(lambda: list(manifest.windows([JOB]))) == ["0000_0000"]
    manifest.close()


def test_a_pool_in_use_meets_its_deadline(postgres_url: str):
    manifest = SqlManifest(postgres_url, deadlines=Deadlines(pool_s=0.05))
    manifest.ensure()
    with contextlib.ExitStack() as held:
        for _ in range(8):
            held.enter_context(manifest._engine.connect())
        with pytest.raises(TransientStoreError, match="every connection of this process is busy"):
            manifest.get(JOB, "0000_0000")
    assert manifest.get(JOB, "0000_0000") is None
    manifest.close()


def test_a_deadlock_is_transient(postgres_url: str):
    manifest = SqlManifest(f"{postgres_url}?options=-c%20deadlock_timeout%3D10ms")
    manifest.ensure()
    conformance.insert_all(manifest, [row("0000_0000"), row("0000_0001")])
    lock_row = "SELECT 1 FROM manifest_rows WHERE \"window\" = '{}' FOR UPDATE"
    first_row, second_row = lock_row.format("0000_0000"), lock_row.format("0000_0001")

    def lock_crosswise(other: psycopg.Connection[Any]) -> None:
        with manifest._transaction("lock", whole=True) as ours:
            ours.exec_driver_sql(first_row)
            waiting = threading.Thread(target=other.execute, args=(first_row,))
            waiting.start()
            try:
                ours.exec_driver_sql(second_row)
            finally:
                ours.rollback()
                waiting.join()

    with servers.postgres_connection(postgres_url) as other:
        other.execute("SET deadlock_timeout = '1h'")
        other.execute("BEGIN")
        other.execute(second_row)
        with pytest.raises(TransientStoreError, match="deadlock detected"):
            lock_crosswise(other)
    manifest.close()


def refusals(postgres: str, postgres_url: str) -> dict[str, tuple[str, type[StoreError], str]]:
    """URLs that the server refuses: what is raised, and what it says."""
    secret = servers.POSTGRES_PASSWORD
    bare = postgres_url.replace(secret, "")
    nobody = postgres_url.replace("//postgres:", "//nobody-at-all:")
    closed = f"127.0.0.1:{servers.free_port()}"
    return {
        "wrong password": (
            postgres_url.replace(secret, "wr0ng-s3cret"),
            PermanentStoreError,
            "password authentication failed.*check user, password",
        ),
        "no password": (bare.replace(":@", "@"), PermanentStoreError, "no password supplied"),
        "no such role": (nobody, PermanentStoreError, "check user, password"),
        "no such database": (
            f"{postgres}/not_there",
            PermanentStoreError,
            'database "not_there" does not exist; make the database first',
        ),
        "nobody listens": (
            f"postgresql+psycopg://u:{secret}@{closed}/db",
            TransientStoreError,
            "Connection refused",
        ),
        "no TLS": (f"{postgres_url}?sslmode=require", PermanentStoreError, "SSL was required"),
        "bad setting": (
            f"{postgres_url}?options=-c%20no_such_thing%3D1",
            PermanentStoreError,
            "no_such_thing",
        ),
        "bad option": (f"{postgres_url}?no_option=1", PermanentStoreError, "no_option"),
        "one host of two may come back": (
            f"postgresql+psycopg://postgres:wr0ng-s3cret@/db?host={closed}"
            f"&host={postgres_url.rpartition('@')[2].partition('/')[0]}",
            TransientStoreError,
            "refused",
        ),
    }


@pytest.mark.parametrize("name", list(refusals("p", "u")))
def test_a_refused_connection_says_why_and_never_the_password(
    name: str, postgres: str, postgres_url: str
):
    url, kind, reason = refusals(postgres, postgres_url)[name]
    manifest = open_manifest(url)
    for call in (manifest.ready, lambda: manifest.insert(row())):
        with pytest.raises(kind, match=reason) as caught:
            call()
        assert type(caught.value) is kind
        shown = "".join(traceback.format_exception(caught.value)) + repr(manifest) + manifest.url
        assert "s3cret" not in shown
    manifest.close()


def test_too_many_connections_are_transient(postgres_url: str):
    role = postgres_url.rpartition("/")[2].replace("sm_", "few_")
    manifest = SqlManifest(postgres_url.replace("//postgres:", f"//{role}:"))
    with servers.postgres_connection(postgres_url) as owner:
        password = servers.POSTGRES_PASSWORD
        owner.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{password}' CONNECTION LIMIT 0")
        with pytest.raises(TransientStoreError, match="too many connections"):
            manifest.ready()
        owner.execute(f"ALTER ROLE {role} CONNECTION LIMIT 5")
        assert manifest.ready() is False
        manifest.close()
        owner.execute(f"DROP ROLE {role}")


def test_a_standby_is_transient_for_writes(postgres_url: str):
    manifest = SqlManifest(postgres_url)
    manifest.ensure()
    options = "options=-c%20default_transaction_read_only%3Don"
    standby = SqlManifest(f"{postgres_url}?{options}")
    with pytest.raises(TransientStoreError, match="read-only transaction"):
        standby.insert(row())
    assert standby.get(JOB, "0000_0000") is None
    standby.close()
    manifest.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://user:p@s3cret@host/db",
        "postgresql+psycopg://user:s3cret@host:s3cret/db",
        "postgresql+psycopg://host:s3cret",
        "postgresql+psycopg_async://user:s3cret@host/db",
        "postgresql+psycopg2://user:s3cret@host/db",
    ],
)
def test_a_url_that_cannot_be_read_is_not_repeated(url: str):
    with pytest.raises(InputError) as caught:
        open_manifest(url)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


def postgres_error(state: str | None, text: str = "text", kind: str = "OperationalError"):
    cause = type(kind, (Exception,), {"sqlstate": state})
    return DBAPIError("SELECT", None, cause(text))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        *((postgres_error(state), TransientStoreError) for state in (
            "08006", "40001", "40P01", "53200", "53300", "55P03", "57014", "57P01", "57P02",
            "57P03", "57P05", "25P03", "58030", "23505", "42P07", None,
        )),
        *((postgres_error(state), PermanentStoreError) for state in (
            "28P01", "28000", "3D000", "3F000", "42501", "42703", "53100", "57P04", "22P05",
            "XX001", "0A000",
        )),
        (postgres_error("42P01"), MissingSchema),
        (postgres_error(None, kind="ProgrammingError"), PermanentStoreError),
        (postgres_error(None, "FATAL: the database system is starting up"), TransientStoreError),
        (postgres_error(None, "FATAL: sorry, too many clients already"), TransientStoreError),
        (postgres_error(None, 'x failed: FATAL: role "a" is not permitted to log in'),
         PermanentStoreError),
        (postgres_error(None, 'x failed: FATAL: no pg_hba.conf entry for host "a"'),
         PermanentStoreError),
    ],
)  # fmt: skip
def test_an_error_means(error: DBAPIError, kind: type[StoreError]):
    meant = classify(error, "insert 0000_0000", "postgresql+psycopg://h/db")
    assert type(meant) is kind
    assert "insert 0000_0000 on manifest postgresql+psycopg://h/db" in str(meant)


def terminate_all(url: str) -> int:
    with servers.postgres_connection(url) as database:
        found = database.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE application_name = 'scenemosaic' AND pid <> pg_backend_pid()"
        ).fetchone()
    assert found is not None
    return int(found[0])


def test_an_idle_connection_that_was_ended_is_not_noticed(postgres_url: str):
    manifest = SqlManifest(postgres_url)
    manifest.ensure()
    assert terminate_all(postgres_url) == 1
    assert manifest.insert(row()) == Inserted()
    manifest.close()


class Loop:
    """Workers that insert all rows by commit_row, and what happens at every so many answers."""

    def __init__(self, url: str, rows: int = 240, workers: int = 8) -> None:
        self.manifest = SqlManifest(url)
        until_settled(self.manifest.ensure)
        self.entries = [
            row(f"{number:04d}_0000", written_by=f"w{number}") for number in range(rows)
        ]
        self._workers = workers
        self._answered = 0
        self._lock = threading.Lock()
        self.failures = 0

    def run(self, every: int, disturb: Callable[[], object]) -> list[object]:
        """One answer for each row, in no order; ``disturb`` runs amid the others' inserts."""

        def sleep(seconds: float) -> None:
            self.failures += 1
            system_effects().sleep(seconds)

        effects = Effects(system_effects().clock, sleep, system_effects().random)

        def work(number: int) -> list[object]:
            answers: list[object] = []
            for entry in self.entries[number :: self._workers]:
                answers.append(commit_row(self.manifest, entry, LONG, effects))
                with self._lock:
                    self._answered += 1
                    due = self._answered % every == 0 and self._answered < len(self.entries)
                if due:
                    disturb()
            return answers

        return [answer for answers in at_once(self._workers, work) for answer in answers]

    def assert_converged(self, answers: list[object]) -> None:
        assert Counter(type(answer).__name__ for answer in answers) == {
            "Inserted": len(self.entries)
        }
        assert until_settled(lambda: list(self.manifest.rows([JOB]))) == self.entries
        self.manifest.close()


def test_connections_ended_amid_a_loop_of_inserts_lose_and_double_nothing(postgres_url: str):
    loop = Loop(postgres_url)
    ended: list[int] = []
    answers = loop.run(15, lambda: ended.append(terminate_all(postgres_url)))
    assert len(ended) == 15
    assert sum(ended) > 0
    loop.assert_converged(answers)


@pytest.fixture
def own_postgres(postgres: str) -> Iterator[servers.Postgres]:
    """A server that the test may kill; ``postgres`` skips where none is installed."""
    server = servers.Postgres()
    yield server
    server.remove()


@pytest.mark.slow
@pytest.mark.parametrize("end", [servers.Postgres.kill, servers.Postgres.stop])
def test_a_server_that_ends_amid_a_loop_of_inserts_loses_and_doubles_nothing(
    own_postgres: servers.Postgres, end: Callable[[servers.Postgres], None]
):
    def restart() -> None:
        end(own_postgres)
        own_postgres.start()

    loop = Loop(f"{own_postgres.url}/postgres")
    answers = loop.run(80, restart)
    assert loop.failures > 0
    loop.assert_converged(answers)


def test_a_server_that_is_gone_is_transient_until_it_is_back(own_postgres: servers.Postgres):
    manifest = SqlManifest(f"{own_postgres.url}/postgres")
    manifest.ensure()
    manifest.insert(row())
    own_postgres.stop()
    for call in (
        lambda: manifest.get(JOB, "0000_0000"),
        lambda: manifest.insert(row()),
        lambda: manifest.replace(row(), 1),
        lambda: list(manifest.windows([JOB])),
        lambda: list(manifest.rows([JOB])),
    ):
        with pytest.raises(TransientStoreError):
            call()
    own_postgres.start()
    assert manifest.get(JOB, "0000_0000") == row()
    assert isinstance(manifest.replace(row(), 1), Updated)
    manifest.close()
