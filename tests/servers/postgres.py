"""PostgreSQL's own server, and databases on it."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.servers.process import START_S, STOP_S, ServerFailed, clean_env, free_port

if TYPE_CHECKING:
    import psycopg

POSTGRES_PASSWORD = "s3cret-of-the-tests"


class Postgres:
    """A PostgreSQL server of its own: made, started, stopped, killed and started again.

    It refuses to run as root: then it runs as Debian's user ``postgres``, in a folder of
    /tmp that is that user's, because pytest's folders are closed to others.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self._settings = dict(settings or {})
        self.folder = Path(tempfile.mkdtemp(prefix="sm-pg-", dir="/tmp"))
        self._log = self.folder / "log"
        self._as: dict[str, Any] = {"cwd": self.folder, "env": clean_env(self.folder)}
        if os.geteuid() == 0:
            self._as |= {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(self.folder, "postgres", "postgres")
        try:
            self._initdb()
            self.start()
        except BaseException:
            self.remove()
            raise

    @property
    def url(self) -> str:
        """The manifest URL of this server, to which ``/database`` is added."""
        return f"postgresql+psycopg://postgres:{POSTGRES_PASSWORD}@127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it takes connections. Backends of one killed end first."""
        give_up = time.monotonic() + START_S
        while not self._came_up(give_up):
            if time.monotonic() > give_up:
                raise ServerFailed(f"postgres did not start:\n{self.log_tail()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End it fast, in order: clients are cut off, and nothing is lost. May be called twice."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL to the postmaster; its backends end by themselves as soon as they notice."""
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log_tail(self, lines: int = 30) -> str:
        if not self._log.exists():
            return ""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])

    def _initdb(self) -> None:
        secret = self.folder / "password"
        secret.write_text(POSTGRES_PASSWORD)
        # Not only the owner's: initdb may run as another user than we do.
        secret.chmod(0o644)
        command = [postgres_program("initdb"), "-D", "data", "-U", "postgres", "--no-sync"]
        command += ["-A", "scram-sha-256", "--pwfile=password", "-E", "UTF8", "--locale=C.UTF-8"]
        made = subprocess.run(command, capture_output=True, text=True, check=False, **self._as)
        secret.unlink()
        if made.returncode:
            raise ServerFailed(f"initdb: {made.stdout}{made.stderr}")

    def _came_up(self, give_up: float) -> bool:
        """Whether it runs; False where it ended at once, as it does beside old backends."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "lc_messages": "C",
            **self._settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self._log.open("ab") as out:
            self.process = subprocess.Popen(
                [postgres_program("postgres"), "-D", "data", *options],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **self._as,
            )
        while self.process.poll() is None:
            if self._takes_connections():
                return True
            if time.monotonic() > give_up:
                break
            time.sleep(0.05)
        return False

    def _takes_connections(self) -> bool:
        command = [postgres_program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, check=False, **self._as).returncode == 0

    def _end(self, number: signal.Signals) -> None:
        # The postmaster alone: its backends answer to it.
        for sent in (number, signal.SIGKILL):
            if self.process is None or self.process.poll() is not None:
                return
            self.process.send_signal(sent)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_S)


def postgres_program(name: str) -> str:
    """One of PostgreSQL's programs, the newest installed; ServerFailed where there is none."""
    versions = sorted(
        Path("/usr/lib/postgresql").glob(f"*/bin/{name}"),
        key=lambda path: float(path.parent.parent.name),
    )
    found = str(versions[-1]) if versions else shutil.which(name)
    if found is None:
        raise ServerFailed("no PostgreSQL server here (Debian: apt-get install postgresql)")
    return found


def postgres_is_there() -> bool:
    """Whether PostgreSQL's server is installed."""
    with contextlib.suppress(ServerFailed):
        return bool(postgres_program("initdb"))
    return False


def make_postgres_database(server_url: str, options: str = "") -> str:
    """A fresh, empty database's manifest URL. ``options`` end the CREATE DATABASE."""
    name = f"sm_{uuid.uuid4().hex[:16]}"
    with postgres_connection(f"{server_url}/postgres") as connection:
        connection.execute(f'CREATE DATABASE "{name}" {options}')
    return f"{server_url}/{name}"


def drop_postgres_database(url: str) -> None:
    """Drop a database, whoever is still connected."""
    server_url, _, name = url.rpartition("/")
    with postgres_connection(f"{server_url}/postgres") as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextlib.contextmanager
def postgres_connection(url: str) -> "Iterator[psycopg.Connection[Any]]":
    """A plain connection for a test's back door, each statement by itself."""
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
        yield connection
