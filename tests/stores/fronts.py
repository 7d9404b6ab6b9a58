"""Small HTTP servers in front of an emulator: they add what it lacks, and pass on the rest."""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "date", "server")


@dataclass(frozen=True)
class Asked:
    """One request: ``target`` is its path and query as they came, headers in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))


@dataclass(frozen=True)
class Answered:
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # for races: five is the default


class Front:
    """Passes everything on; subclasses answer some requests themselves in :meth:`answer`."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, asked: Asked) -> Answered:
        return self.forward(asked)

    def forward(self, asked: Asked) -> Answered:
        parts = urlsplit(self.upstream)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        try:
            passed = {name: value for name, value in asked.headers.items() if name not in _HOP}
            passed["date"] = asked.headers.get("date", "")
            passed = {name: value for name, value in passed.items() if value}
            connection.request(asked.method, asked.target, asked.body or None, passed)
            reply = connection.getresponse()
            body = reply.read()
            kept = {name: value for name, value in reply.getheaders() if name.lower() not in _HOP}
            if asked.method == "HEAD":
                kept["Content-Length"] = reply.getheader("Content-Length", "0")
            return Answered(reply.status, body, kept)
        finally:
            connection.close()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        # Who ends it waits for as long as it looks up seldom.
        thread = threading.Thread(target=self._server.serve_forever, args=[0.02], name="front")
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join(10)


def _handler(front: Front) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version: ClassVar[Any] = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, self.rfile.read(length))
            answered = front.answer(asked)
            self.send_response_only(answered.status)
            for name, value in answered.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in answered.headers and answered.status != 204:
                self.send_header("Content-Length", str(len(answered.body)))
            self.end_headers()
            self.wfile.write(answered.body)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
