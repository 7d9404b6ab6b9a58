"""Fixtures for all tests: no account, no home folder, real servers on demand."""

import gc
import itertools
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import pytest

from tests import databases, order, quick, servers, surroundings

REPOSITORY = Path(__file__).resolve().parent.parent
_OURS = ("scenemosaic", "flows", "tasks")
_session_folder: Path | None = None


# A busy machine is no failure, and what passed here passes there: before any module is imported.
hypothesis.settings.register_profile(
    "tests",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("tests")


def pytest_configure(config: pytest.Config) -> None:
    # Before any test module is imported: Prefect reads its home at import.
    global _session_folder
    _session_folder = Path(tempfile.mkdtemp(prefix="scenemosaic-tests-"))
    surroundings.enter(_session_folder)
    quick.make_quick()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first: else one worker is at it when the others are done."""
    items[:] = order.ordered(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def pytest_collection_finish() -> None:
    """Half a million objects stand until the end: the collector need not walk them again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def pytest_unconfigure(config: pytest.Config) -> None:
    if _session_folder is not None:
        shutil.rmtree(_session_folder, ignore_errors=True)


@pytest.fixture(scope="session")
def _caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Empty folders, one after another: pytest would look through all of them for each."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _isolated(_caches: Iterator[Path]) -> Iterator[None]:
    """Each test has a cache of its own, and leaves the environment as it was.

    Only the empty database of Prefect's temporary server is in it, once one was made.
    """
    before = dict(os.environ)
    cache = next(_caches)
    cache.mkdir()
    os.environ["XDG_CACHE_HOME"] = str(cache)
    with _logging_kept(), databases.kept(cache):
        yield
    # Never emptied: a thread left over from the test may be reading it.
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


@contextmanager
def _logging_kept() -> Iterator[None]:
    """A command that runs inside a test sets up logging for a process of its own.

    So may one in a fixture of a whole module, before this: logging begins anew here, too.
    """
    _begin_logging_anew()
    yield
    _begin_logging_anew()


def _begin_logging_anew() -> None:
    # Each change of a level has Python walk all loggers there are, so only what is set is reset.
    if logging.root.manager.disable:
        logging.disable(logging.NOTSET)
    for name in [*_OURS, *logging.root.manager.loggerDict]:
        if name.partition(".")[0] in _OURS:
            logger = logging.getLogger(name)
            if logger.level:
                logger.setLevel(logging.NOTSET)
            # Whoever sets logging up may disable what stands, and only that.
            logger.disabled, logger.propagate, logger.handlers = False, True, []
    # pytest's own handlers, which live as long as its process, are among them.
    for handler in logging.getLogger().handlers:
        handler.filters = [one for one in handler.filters if not _is_ours(one)]


def _is_ours(value: object) -> bool:
    return type(value).__module__.partition(".")[0] in _OURS


@pytest.fixture(scope="session")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of a ministack of this test process: S3, DynamoDB and SQS."""
    folder = tmp_path_factory.mktemp("ministack")
    with servers.running(servers.start_ministack(folder)) as server:
        yield server.url


@pytest.fixture(scope="session")
def moto_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of a moto_server of this test process: S3."""
    folder = tmp_path_factory.mktemp("moto")
    with servers.running(servers.start_moto(folder)) as server:
        yield server.url


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the API of a real ``prefect server start`` of this test process."""
    from tests.flows.serving import start_prefect

    with servers.running(start_prefect(tmp_path_factory.mktemp("prefect"))) as server:
        yield f"{server.url}/api"


@pytest.fixture(scope="session")
def harness(prefect_server: str) -> Iterator[None]:
    """The same API for flows that run inside the test process, as Prefect's own harness does it."""
    from prefect import context
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings({PREFECT_API_URL: prefect_server}):
        # Threads begin without this one's context.
        with context._temporary_global_settings_context(context.get_settings_context()):
            yield
        APILogWorker.drain_all(timeout=10)
        EventsWorker.drain_all(timeout=10)


@pytest.fixture(scope="session")
def fake_gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of a fake-gcs-server of this test process."""
    folder = tmp_path_factory.mktemp("fake-gcs")
    with servers.running(servers.start_fake_gcs(folder)) as server:
        yield server.url


@pytest.fixture(scope="session")
def gcp_storage_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of an emulator of Cloud Storage that ignores conditions."""
    folder = tmp_path_factory.mktemp("gcp-emulator")
    with servers.running(servers.start_gcp_storage_emulator(folder)) as server:
        yield server.url


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of an azurite of this test process; skips where it is not installed."""
    program = servers.azurite_program()
    if not program.exists():
        reason = f"no azurite at {program}: run tests/emulators/install (needs npm)"
        if os.environ.get("SCENEMOSAIC_CI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("azurite")
    with servers.running(servers.start_azurite(folder)) as server:
        yield server.url


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The manifest URL of a PostgreSQL server of this test process, without a database.

    Skips where the server is not installed.
    """
    if not servers.postgres_is_there():
        reason = "no PostgreSQL server here (Debian: apt-get install postgresql)"
        if os.environ.get("SCENEMOSAIC_CI") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    server = servers.Postgres({"max_connections": "60"})
    yield server.url
    server.remove()


@pytest.fixture
def postgres_url(postgres: str) -> Iterator[str]:
    """The manifest URL of an empty PostgreSQL database that is this test's alone."""
    url = servers.make_postgres_database(postgres)
    yield url
    servers.drop_postgres_database(url)


@pytest.fixture
def fresh_bucket() -> Callable[..., str]:
    """``fresh_bucket(endpoint, versioned=False)`` makes an empty bucket and names it."""
    return servers.make_bucket


@pytest.fixture
def table_name() -> str:
    """A DynamoDB table name that is this test's alone; the table is not made."""
    return servers.fresh_table_name()


@pytest.fixture(scope="session")
def scenes_dir() -> Path:
    """Real scenes, kept beside a checkout and never inside; skips where they are absent."""
    folder = REPOSITORY.parent / "shared" / "scenes"
    if not folder.is_dir():
        pytest.skip("no ../shared/scenes beside this checkout")
    return folder
