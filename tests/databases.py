"""Prefect's empty databases, made once for all test processes: half of a server's start."""

import contextlib
import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

FOLDER = "SCENEMOSAIC_TESTS_SHARED"
# What the temporary server calls it in the user's cache; it has no blocks registered.
_TEMPORARY = f"prefect-{version('prefect')}.db"
_SERVER = "prefect-server.db"


@contextlib.contextmanager
def kept(cache: Path) -> Iterator[None]:
    """A test's cache holds an empty database for temporary servers; what one makes is kept."""
    own = cache / "scenemosaic" / _TEMPORARY
    shared = [one for one in (_shared(_SERVER), _shared(_TEMPORARY)) if one.exists()]
    if shared:
        own.parent.mkdir()
        own.symlink_to(shared[0])
    yield
    if own.is_file() and not own.is_symlink():
        _put(own, _shared(_TEMPORARY))


@contextlib.contextmanager
def given(home: Path) -> Iterator[Mapping[str, str]]:
    """A block in which a server starts for the first time, with the database in its home.

    Yields settings: blocks are registered in what is there, so that the server need not import
    all that have some. The first of all servers makes it, and the others wait for that.
    """
    shared, own = _shared(_SERVER), home / "prefect.db"
    with _one_at_a_time() if not shared.exists() else contextlib.nullcontext():
        if shared.exists() and not own.exists():
            home.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(shared, own)
        yield {"PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false"} if own.exists() else {}
        if not shared.exists():
            _put(own, shared)


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    with _shared("prefect-server.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _shared(name: str) -> Path:
    return Path(os.environ[FOLDER]) / name


def _put(database: Path, shared: Path) -> None:
    """A whole copy, also of a database at work; who is second puts the same."""
    scratch = shared.with_name(f".{shared.name}.{os.getpid()}")
    with contextlib.closing(sqlite3.connect(database, timeout=60)) as connection:
        connection.execute("VACUUM INTO ?", (str(scratch),))
    scratch.replace(shared)
