"""A web server that answers HEAD and ranges, in a process of its own: sources are read from it."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import servers


class Site:
    """A web server's folder and behaviour."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.status: dict[str, int] = {}
        self.more: dict[str, Any] = {}
        self.headers = {"ETag": '"one"', "Last-Modified": "Wed, 01 May 2024 10:00:00 GMT"}
        self.apply()

    def apply(self) -> None:
        """Let the server behave as said, and forget what it was asked."""
        behaviour = {"status": self.status, "headers": self.headers, **self.more}
        # In one step, since the server may be reading it.
        (self.folder / "behaviour.new").write_text(json.dumps(behaviour))
        (self.folder / "behaviour.new").replace(self.folder / "behaviour.json")
        (self.folder / "asked.log").write_text("")

    def asked(self) -> list[str]:
        return (self.folder / "asked.log").read_text().splitlines()


@contextmanager
def serving(folder: Path, *tls: str) -> Iterator[str]:
    """The URL under which the files of ``folder`` lie; ``tls``: port and file of a certificate."""
    Site("", folder)
    port = servers.free_port()
    command = [sys.executable, str(Path(__file__).with_name("web_server.py")), str(port), *tls]
    with servers.running(servers.start("web", command, port, folder)) as server:
        yield server.url
