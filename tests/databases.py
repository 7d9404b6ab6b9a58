"""Prefect's empty databases, made once for all test processes: half of a server's start."""

import contextlib
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
    """A test's cache holds the temporary server's database; what it makes is kept for others."""
    shared, own = _shared(_TEMPORARY), cache / "scenemosaic" / _TEMPORARY
    if shared.exists():
        own.parent.mkdir()
        own.symlink_to(shared)
    yield
    if own.is_file() and not shared.exists():
        _put(own, shared)


def give(home: Path) -> Mapping[str, str]:
    """Put the database into the home of a server that is about to start for the first time.

    Returns settings: blocks are registered in what is there, so that the server need not import
    all that have some.
    """
    shared, own = _shared(_SERVER), home / "prefect.db"
    if shared.exists() and not own.exists():
        home.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(shared, own)
    return {"PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false"} if own.exists() else {}


def keep(home: Path) -> None:
    """Keep what a server that has just started for the first time has in its home."""
    shared = _shared(_SERVER)
    if not shared.exists():
        _put(home / "prefect.db", shared)


def _shared(name: str) -> Path:
    return Path(os.environ[FOLDER]) / name


def _put(database: Path, shared: Path) -> None:
    """A whole copy, also of a database at work; who is second puts the same."""
    scratch = shared.with_name(f".{shared.name}.{os.getpid()}")
    with contextlib.closing(sqlite3.connect(database, timeout=60)) as connection:
        connection.execute("VACUUM INTO ?", (str(scratch),))
    scratch.replace(shared)
