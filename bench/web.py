"""A web server on 127.0.0.1 that answers ranges and counts what it was asked. Standard library."""

import http.server
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_PIECE = 1 << 20


@dataclass(frozen=True)
class Asked:
    """One request: its method, its path and how many bytes of body it was answered with."""

    method: str
    path: str
    size_bytes: int


@dataclass
class Site:
    """Files by path, and the requests so far."""

    files: Mapping[str, Path]
    url: str = ""
    asked: list[Asked] = field(default_factory=list)

    def forget(self) -> None:
        """Count from nothing again."""
        self.asked.clear()

    @property
    def size_bytes(self) -> int:
        """The bytes of all bodies so far."""
        return sum(request.size_bytes for request in self.asked)


@contextmanager
def serving(files: Mapping[str, Path]) -> Iterator[Site]:
    """Serve ``files`` (path without its leading slash to file) on a free port."""
    site = Site(files)

    class Handler(_Handler):
        served = site

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()


def asked_range(header: str | None, size_bytes: int) -> range:
    """The bytes that a Range header asks for, one range of the form ``bytes=1-2`` or ``bytes=1-``.

    All of them where there is no header; empty where it begins behind the end.
    """
    if header is None:
        return range(size_bytes)
    first, _, last = header.removeprefix("bytes=").partition("-")
    end = int(last) + 1 if last else size_bytes
    return range(int(first), min(end, size_bytes))


class _Handler(http.server.BaseHTTPRequestHandler):
    served: Site
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        name = self.path.lstrip("/")
        file = self.served.files.get(name)
        if file is None:
            self._refuse(404)
            return
        size, header = file.stat().st_size, self.headers.get("Range")
        part = asked_range(header, size)
        if header and not part:
            self._refuse(416)
            return
        extra = {"Content-Range": f"bytes {part[0]}-{part[-1]}/{size}"} if header else {}
        self._count(len(part) if body else 0)
        self._head(206 if header else 200, len(part), extra)
        if body:
            self._send(file, part)

    def _refuse(self, status: int) -> None:
        self._count(0)
        self._head(status, 0)

    def _head(self, status: int, length: int, extra: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(length))
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, file: Path, part: range) -> None:
        with file.open("rb") as stream:
            stream.seek(part.start)
            left = len(part)
            while left and (piece := stream.read(min(left, _PIECE))):
                self.wfile.write(piece)
                left -= len(piece)

    def _count(self, size_bytes: int) -> None:
        """Before the answer: who has it may look at once."""
        self.served.asked.append(Asked(self.command, self.path, size_bytes))

    def log_message(self, format: str, *args: object) -> None:
        return
