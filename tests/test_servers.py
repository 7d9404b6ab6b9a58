"""The servers that other tests stand on."""

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests import servers


def listens(url: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlsplit(url).port or 0)) == 0


@pytest.mark.parametrize("start", [servers.start_ministack, servers.start_moto])
def test_a_server_serves_s3_and_ends_without_a_trace_outside_its_folder(start, tmp_path: Path):
    server = start(tmp_path / "server")
    try:
        bucket = servers.make_bucket(server.url, versioned=True)
        s3 = servers.aws_client("s3", server.url)
        assert s3.put_object(Bucket=bucket, Key="k", Body=b"1")["VersionId"]
    finally:
        server.stop()
    assert server.process.returncode is not None
    assert not listens(server.url)
    with pytest.raises(ProcessLookupError):
        os.killpg(server.process.pid, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["server"]
    server.stop()


def test_a_server_that_ends_early_is_reported_with_its_log(tmp_path: Path):
    command = ["/bin/sh", "-c", "echo no luck; exit 3"]
    with pytest.raises(servers.ServerFailed, match="no luck"):
        servers.start("broken", command, servers.free_port(), tmp_path)


def test_tests_see_no_account_and_no_home(tmp_path: Path):
    assert os.environ["AWS_ACCESS_KEY_ID"] == "test"
    assert not Path(os.environ["AWS_CONFIG_FILE"]).exists()
    assert "AWS_PROFILE" not in os.environ
    assert not os.environ["PREFECT_HOME"].startswith(str(Path.home() / ".prefect"))


def test_postgresql_survives_a_kill_and_ends_without_a_trace(postgres: str):
    server = servers.Postgres()
    try:
        url = servers.make_postgres_database(server.url)
        with servers.postgres_connection(url) as kept:
            server.kill()
            server.start()
            assert kept.info.backend_pid > 0
        with servers.postgres_connection(url) as database:
            assert database.execute("SELECT 1").fetchone() == (1,)
        folder = server.folder
    finally:
        server.remove()
    assert not listens(f"tcp://127.0.0.1:{server.port}")
    assert not folder.exists()
    server.remove()
