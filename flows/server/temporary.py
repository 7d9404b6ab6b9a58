"""Prefect's API server for the length of one command; a script that imports nothing of ours.

It keeps its database in a folder of its own, because two servers on one SQLite
file lock each other out. Making the tables takes half of the start, so an empty
database is kept in the user's cache for the next start. The server prints its
port once it answers, and ends when its standard input does, which is also what
happens when its parent is killed.
"""

import contextlib
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

_SETTINGS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_UI_ENABLED": "false",
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    # How Prefect itself marks a server that lives for one process.
    "PREFECT__SERVER_EPHEMERAL": "1",
    "PREFECT__SERVER_FINAL": "1",
}


def main() -> None:
    """Serve until standard input ends."""
    home = Path(tempfile.mkdtemp(prefix="scenemosaic-prefect-"))
    threading.Thread(target=_end_with_parent, args=(home,), daemon=True).start()
    try:
        _serve_in(home)
    finally:  # where it does not start; else the other thread ends the process
        shutil.rmtree(home, ignore_errors=True)


def _serve_in(home: Path) -> None:
    database, template = home / "prefect.db", _template()
    fresh = not _copied(template, database)
    for name in [name for name in os.environ if name.startswith("PREFECT_")]:
        del os.environ[name]
    os.environ.update(_SETTINGS, PREFECT_HOME=str(home))
    # A prefect.toml or .env in the folder where the user stands is not this server's.
    os.chdir(home)
    _serve(lambda: _keep(database, template) if fresh else None)


def _end_with_parent(home: Path) -> None:
    sys.stdin.read()
    # Nothing of this server is kept, so there is nothing to finish. The other thread may
    # still be making files, so once is not always enough.
    for _ in range(3):
        shutil.rmtree(home, ignore_errors=True)
    os._exit(0)


def _template() -> Path:
    """Where the empty database of this version of Prefect is kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "scenemosaic" / f"prefect-{version('prefect')}.db"


def _copied(template: Path, database: Path) -> bool:
    try:
        shutil.copyfile(template, database)
    except OSError:
        return False
    return True


def _keep(database: Path, template: Path) -> None:
    """Put a copy of ``database`` into the cache, whole or not at all."""
    scratch = template.with_name(f".{template.name}.{os.getpid()}")
    try:
        template.parent.mkdir(parents=True, exist_ok=True)
        with sqlite3.connect(database) as connection:
            connection.execute("VACUUM INTO ?", (str(scratch),))
        connection.close()
        scratch.replace(template)
    except (OSError, sqlite3.Error):
        # Without it the next start takes longer, no more.
        with contextlib.suppress(OSError):
            scratch.unlink()


def _serve(started: Callable[[], None]) -> None:
    # Only now: Prefect reads its settings at import.
    import uvicorn
    from prefect.server.api.server import create_app

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started and sockets:
                started()
                sys.stdout.write(f"{sockets[0].getsockname()[1]}\n")
                sys.stdout.flush()

    config = uvicorn.Config(create_app, factory=True, log_level="critical", lifespan="on")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
