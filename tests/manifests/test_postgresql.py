"""What is PostgreSQL's alone: processes, pools, pages, schemas, and whose settings count."""

import multiprocessing
import os
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from urllib.parse import quote

import pytest

from scenemosaic.errors import InputError, MissingSchema, PermanentStoreError
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.port import Existing, Inserted, Updated
from scenemosaic.manifests.sql import SqlManifest
from scenemosaic.manifests.sql_postgres import (
    MAX_OVERFLOW,
    POOL_SIZE,
    Deadlines,
    connect_params,
)
from tests import servers
from tests.manifests import conformance
from tests.manifests.support import (
    JOB,
    WINDOWS,
    PostgresCase,
    at_once,
    columns_of,
    insert_windows,
    postgres_write,
    row,
    until_settled,
)

MANY = 30_000


@pytest.fixture
def manifest(postgres_url: str) -> Iterator[SqlManifest]:
    opened = SqlManifest(postgres_url)
    opened.ensure()
    yield opened
    opened.close()


def ask(url: str, statement: str, *values: object) -> list[tuple[object, ...]]:
    """The rows of a statement, by the back door."""
    with servers.postgres_connection(url) as database:
        cursor = database.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def backends(url: str) -> set[object]:
    """The server's processes that serve our manifests of this database."""
    found = ask(
        url,
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'scenemosaic'",
    )
    return {pid for (pid,) in found}


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_many_processes_and_threads_write_one_table(
    postgres_url: str, manifest: SqlManifest, method: str
):
    manifest.insert(row("mosaic"))
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(4, mp_context=context) as pool:
        counts = sum(pool.map(insert_windows, [postgres_url] * 4, "abcd"), Counter())
    assert counts == {"Inserted": len(WINDOWS), "Existing": 3 * len(WINDOWS)}
    assert list(manifest.windows([JOB])) == [*WINDOWS, "mosaic"]


def _close_after_fork(manifest: SqlManifest, parents: set[object]) -> None:
    manifest.close()


def _use_after_fork(manifest: SqlManifest, parents: set[object]) -> None:
    with manifest._transaction("ask") as connection:
        assert connection.exec_driver_sql("SELECT pg_backend_pid()").scalar() not in parents
    answers = at_once(8, lambda number: manifest.insert(row(f"{number:04d}_0001")))
    assert answers == [Inserted()] * 8
    assert isinstance(manifest.insert(row("0000_0000")), Existing)


def test_a_child_that_forks_and_ends_leaves_the_parents_connection_alone(
    postgres_url: str, manifest: SqlManifest
):
    manifest.insert(row("0000_0000"))
    before = backends(postgres_url)
    assert len(before) == 1
    for use in (_close_after_fork, _use_after_fork):
        child = multiprocessing.get_context("fork").Process(target=use, args=(manifest, before))
        child.start()
        child.join(60)
        assert child.exitcode == 0
        # The child's own end is noticed by the server in its own time; the parent's never comes.
        until_true(lambda: backends(postgres_url) == before)
    manifest.insert(row("0000_0002"))
    assert backends(postgres_url) == before
    assert len(list(manifest.windows([JOB]))) == 10


def test_a_burst_of_threads_opens_few_connections_and_keeps_fewer(
    postgres_url: str, manifest: SqlManifest
):
    seen: list[int] = []

    def work(number: int) -> None:
        for turn in range(10):
            manifest.insert(row(f"{number:04d}_{turn:04d}"))
        seen.append(len(backends(postgres_url)))

    at_once(24, work)
    assert max(seen) <= POOL_SIZE + MAX_OVERFLOW
    assert len(list(manifest.windows([JOB]))) == 240
    assert manifest._engine.pool.checkedin() <= POOL_SIZE  # type: ignore[attr-defined]


def test_readers_half_way_hold_no_connection_and_no_writer_up(
    postgres_url: str, manifest: SqlManifest
):
    conformance.insert_all(manifest, [row(window) for window in WINDOWS])
    reading = [manifest.rows([JOB]) for _ in range(3 * (POOL_SIZE + MAX_OVERFLOW))]
    assert {next(rows).window for rows in reading} == {WINDOWS[0]}
    assert manifest.insert(row("mosaic")) == Inserted()
    held = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%%'"
    assert ask(postgres_url, held) == [(0,)]


@pytest.mark.slow
def test_thirty_thousand_rows_are_read_in_bounded_memory(postgres_url: str, manifest: SqlManifest):
    ask(
        postgres_url,
        "INSERT INTO manifest_rows SELECT %s, to_char(n, 'FM000000') || '_0000', 's3://b/k', n,"
        " 'ab', 'etag', NULL, decode(repeat('00ff', 100), 'hex'), '[1]', 1, 'run', 'now', '{}'"
        " FROM generate_series(0, %s) n",
        JOB,
        MANY - 1,
    )
    tracemalloc.start()
    try:
        names = sum(1 for _ in manifest.windows([JOB]))
        total = sum(each.bytes for each in manifest.rows([JOB]))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (names, total) == (MANY, MANY * (MANY - 1) // 2)
    assert peak_bytes < 8 * 2**20


def test_windows_come_in_the_order_of_their_bytes_whatever_the_database_sorts_by(postgres: str):
    url = servers.make_postgres_database(
        postgres, "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C.UTF-8'"
    )
    manifest = SqlManifest(url)
    manifest.ensure()
    names = ["mosaic", "Mosaic", "0001_0000", "00010_000", "0001-0000", "é", "z", "_"]
    for name in names:
        manifest.insert(row(name))
    assert list(manifest.windows([JOB])) == sorted(names)
    manifest.close()
    servers.drop_postgres_database(url)


@pytest.mark.parametrize("isolation", ["serializable", "repeatable read"])
def test_a_database_with_another_isolation_has_one_winner_too(postgres_url: str, isolation: str):
    name = postgres_url.rpartition("/")[2]
    ask(postgres_url, f"ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'")
    manifest = SqlManifest(postgres_url)
    manifest.ensure()
    conformance.check_a_race_to_insert_has_one_winner(manifest, PostgresCase(postgres_url))
    with manifest._transaction("ask") as connection:
        shown = connection.exec_driver_sql("SHOW transaction_isolation").scalar()
    assert shown == "read committed", "or races end in errors to be tried again"
    manifest.close()


def test_a_long_wait_of_a_loser_ends_with_the_winners_row(postgres_url: str, manifest: SqlManifest):
    """The winner has inserted and not yet committed: the loser must not go away empty."""
    winner = row(written_by="winner")
    with servers.postgres_connection(postgres_url) as holder:
        holder.execute("BEGIN")
        postgres_write(holder, columns_of(winner))
        locked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"

        def lose(number: int) -> object:
            if number == 0:
                return manifest.insert(row(written_by="loser"))
            until_true(lambda: ask(postgres_url, locked) == [(1,)])
            holder.execute("COMMIT")
            return None

        assert at_once(2, lose) == [Existing(winner), None]


def until_true(condition: Callable[[], bool], attempts: int = 1000) -> None:
    """Ask a server again and again; each question is a round trip."""
    assert any(condition() for _ in range(attempts)), "it never came about"


def test_the_schema_that_search_path_names_is_used_and_our_settings_stay(postgres_url: str):
    ask(postgres_url, "CREATE SCHEMA mosaics")
    options = quote("-c search_path=mosaics -c lock_timeout=1234")
    manifest = SqlManifest(f"{postgres_url}?options={options}")
    assert manifest.ensure() is True
    assert manifest.insert(row()) == Inserted()
    assert ask(postgres_url, "SELECT count(*) FROM mosaics.manifest_rows") == [(1,)]
    with manifest._engine.connect() as connection:
        shown = {
            name: connection.exec_driver_sql(f"SHOW {name}").scalar()
            for name in ("lock_timeout", "statement_timeout", "default_transaction_isolation")
        }
    assert shown == {
        "lock_timeout": "1234ms",
        "statement_timeout": "1min",
        "default_transaction_isolation": "read committed",
    }
    manifest.close()
    elsewhere = SqlManifest(postgres_url)
    assert elsewhere.ready() is False
    elsewhere.close()


def test_url_and_environment_speak_before_our_own_settings():
    given = {"host": "h", "connect_timeout": "3", "options": "-c a=b"}
    params = connect_params(given, Deadlines(), {"PGOPTIONS": "-c c=d"})
    assert params["connect_timeout"] == "3"
    assert params["options"].endswith(" -c a=b")
    assert params["prepare_threshold"] is None
    params = connect_params({"host": "h"}, Deadlines(connect_s=7, statement_s=1.5), {})
    assert params["connect_timeout"] == 7
    assert "-c statement_timeout=1500 " in params["options"]
    environ = {"PGOPTIONS": "-c c=d", "PGCONNECT_TIMEOUT": "4"}
    params = connect_params({"host": "h"}, Deadlines(), environ)
    assert "connect_timeout" not in params
    assert params["options"].endswith(" -c c=d")


@pytest.fixture
def worker_url(postgres_url: str) -> Iterator[str]:
    """The same database, as a role that may do nothing yet."""
    role = postgres_url.rpartition("/")[2].replace("sm_", "worker_")
    ask(postgres_url, f"CREATE ROLE {role} LOGIN PASSWORD '{servers.POSTGRES_PASSWORD}'")
    yield postgres_url.replace("//postgres:", f"//{role}:")
    ask(postgres_url, f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_worker_needs_no_right_to_make_tables(postgres_url: str, worker_url: str):
    worker, owner = SqlManifest(worker_url), SqlManifest(postgres_url)
    assert worker.ready() is False
    with pytest.raises(PermanentStoreError, match=r"permission denied.*scenemosaic init"):
        worker.ensure()
    owner.ensure()
    with pytest.raises(PermanentStoreError, match=r"permission denied for table.*grant"):
        worker.insert(row())
    role = worker_url.partition("//")[2].partition(":")[0]
    ask(
        postgres_url,
        f"GRANT SELECT ON manifest_schema TO {role};"
        f"GRANT SELECT, INSERT, UPDATE ON manifest_rows TO {role}",
    )
    assert worker.ensure() is False
    assert worker.insert(row()) == Inserted()
    assert isinstance(worker.replace(row(), 1), Updated)
    assert [each.revision for each in worker.rows([JOB])] == [2]
    worker.close()
    owner.close()


def test_makers_in_a_database_where_others_make_tables_too(postgres_url: str):
    """Another maker holds no lock of ours, as a migration by hand would."""
    with servers.postgres_connection(postgres_url) as holder:
        holder.execute("BEGIN")
        holder.execute("CREATE TABLE manifest_rows (n int)")
        manifest = SqlManifest(postgres_url, deadlines=Deadlines(lock_s=0.2))
        with pytest.raises(Exception, match="lock timeout") as caught:
            manifest.ensure()
        assert caught.value.retryable  # type: ignore[attr-defined]
        holder.execute("ROLLBACK")
    assert until_settled(manifest.ensure) is True
    manifest.close()


def test_racing_makers_wait_for_each_other_and_none_meets_an_error(postgres_url: str):
    for _ in range(5):
        makers = [SqlManifest(postgres_url) for _ in range(8)]
        made = at_once(8, lambda number, makers=makers: makers[number].ensure())
        assert sorted(made) == [False] * 7 + [True]
        for maker in makers:
            maker.close()
        ask(postgres_url, "DROP TABLE manifest_rows, manifest_schema")


def test_a_table_of_another_shape_is_permanent(postgres_url: str, manifest: SqlManifest):
    ask(postgres_url, "ALTER TABLE manifest_rows RENAME COLUMN sha256 TO other")
    with pytest.raises(PermanentStoreError, match=r"sha256.*not made by this pipeline"):
        manifest.insert(row())
    ask(postgres_url, "DROP TABLE manifest_rows")
    with pytest.raises(MissingSchema, match="scenemosaic init"):
        manifest.insert(row())


def test_text_that_the_database_cannot_hold_is_permanent(postgres: str):
    url = servers.make_postgres_database(
        postgres, "TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'"
    )
    manifest = SqlManifest(url)
    manifest.ensure()
    assert manifest.insert(row("0000_0000", output_uri="s3://b/é")) == Inserted()
    assert manifest.get(JOB, "0000_0000") == row("0000_0000", output_uri="s3://b/é")
    with pytest.raises(PermanentStoreError, match="insert 0000_0001"):
        manifest.insert(row("0000_0001", output_uri="s3://b/日本"))
    with pytest.raises(PermanentStoreError, match="NUL"):
        manifest.insert(row("0000_0001", output_uri="a\x00b"))
    manifest.close()
    servers.drop_postgres_database(url)


def test_a_database_without_an_encoding_keeps_text_exactly(postgres: str):
    url = servers.make_postgres_database(
        postgres, "TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'"
    )
    manifest = SqlManifest(url)
    manifest.ensure()
    there = row(output_uri="s3://b/日本")
    assert manifest.insert(there) == Inserted()
    assert manifest.get(JOB, "0000_0000") == there
    manifest.close()
    servers.drop_postgres_database(url)


def test_without_the_driver_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "scenemosaic.manifests.sql_postgres")
    monkeypatch.delattr("scenemosaic.manifests.sql_postgres")
    with pytest.raises(InputError, match=r"pip install 'scenemosaic\[postgresql\]'") as caught:
        open_manifest("postgresql+psycopg://u:s3cret@h/db")
    assert "s3cret" not in str(caught.value)


def test_the_server_of_the_tests_is_no_roots_and_of_this_process(postgres_url: str):
    assert ask(postgres_url, "SHOW listen_addresses") == [("127.0.0.1",)]
    ((folder,),) = ask(postgres_url, "SHOW data_directory")
    assert os.stat(str(folder)).st_uid != 0
