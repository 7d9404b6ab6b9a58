"""No call to a manifest lasts for ever: not in silence, and not while its bytes drip."""

import pytest
import sqlalchemy as sa

from scenemosaic.errors import TransientStoreError
from scenemosaic.manifests import open_manifest
from scenemosaic.manifests.sql_postgres import Deadlines, deadlines_from, make_engine
from scenemosaic.waiting.deadlines import VARIABLE
from tests.faults.proxy import Fault, Proxy, once
from tests.manifests.support import row


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.DRIP])
def test_a_dynamodb_call_ends_in_time(
    ministack: str, table_name: str, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack)
    direct = open_manifest(f"dynamodb://{table_name}")
    direct.ensure()
    with Proxy(ministack) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        monkeypatch.setenv(VARIABLE, "1")
        manifest = open_manifest(f"dynamodb://{table_name}")
        for call in (lambda: manifest.insert(row("w")), lambda: manifest.get("p", "w")):
            proxy.rule = once(fault, lambda request: True)
            with pytest.raises(TransientStoreError, match=table_name):
                call()
        manifest.close()
    direct.close()


def test_a_postgresql_calls_replies_share_one_deadline(postgres_url: str) -> None:
    """Each of these statements alone would be in time."""
    engine = make_engine(sa.make_url(postgres_url), Deadlines(reply_s=1.0))

    def slow_call() -> None:
        with engine.connect() as connection:
            for _ in range(30):
                connection.execute(sa.text("SELECT pg_sleep(0.1)"))

    with pytest.raises(sa.exc.OperationalError, match="no reply from the server within 1 s"):
        slow_call()
    # The next call has a deadline of its own.
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT 1")).scalar() == 1
    engine.dispose()


def test_the_environment_shortens_postgresqls_waits() -> None:
    assert deadlines_from({}) == Deadlines()
    assert deadlines_from({VARIABLE: "5.4"}) == Deadlines(5, 5.4, 5.4, 5.4, 5.4)
    assert deadlines_from({VARIABLE: "0.2"}).connect_s == 1
    assert deadlines_from({VARIABLE: "3600"}) == Deadlines()
