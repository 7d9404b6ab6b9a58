"""A web server in a process of its own: GDAL keeps the interpreter's lock while it opens.

Serves the files of the folder that it starts in. ``behaviour.json`` there says
how (ETag, Last-Modified, status by method), ``asked.log`` gets a line a request.

    python web_server.py PORT
"""

import http.server
import json
import sys
from pathlib import Path
from typing import Any


class Handler(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        with Path("asked.log").open("a") as log:
            log.write(f"{self.command} {self.path}\n")
        behaviour = json.loads(Path("behaviour.json").read_text())
        file = Path(self.path.partition("?")[0].lstrip("/"))
        status = behaviour["status"].get(self.command, 200 if file.is_file() else 404)
        if status != 200:
            self._send(status, {}, b"")
            return
        data = file.read_bytes()
        headers = {"Accept-Ranges": "bytes"} | behaviour["headers"]
        wanted = self.headers.get("Range")
        if wanted:
            first, last = (int(n) for n in wanted.removeprefix("bytes=").split("-"))
            headers["Content-Range"] = f"bytes {first}-{min(last, len(data) - 1)}/{len(data)}"
            data, status = data[first : last + 1], 206
        self._send(status, headers, data, body)

    def _send(self, status: int, headers: dict[str, str], data: bytes, body: bool = True) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        return


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
