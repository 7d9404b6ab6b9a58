"""A web server in a process of its own: GDAL keeps the interpreter's lock while it opens.

Serves the files of the folder that it starts in. ``behaviour.json`` there says
how, ``asked.log`` gets a line a request: method, path, access key and who pays.

    status     a status by method, instead of the file
    headers    of every answer with a file: ETag, Last-Modified
    ranges     false: ranges are not served
    most       no range has more bytes than that
    range      Content-Range, of first, last and total; null: none
    cut        so many bytes of a body are sent, and the connection breaks off
    redirects  where a path leads
    key        the only access key that may read
    failing    so many requests are answered with 503 first
    trouble    hang (no answer at all), drip (a byte now and then)

    python web_server.py PORT [TLS_PORT CERTIFICATE]
"""

import http.server
import json
import re
import ssl
import sys
import threading
import time
from pathlib import Path
from typing import Any


class Handler(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        signed = re.search("Credential=([^/]+)/", self.headers.get("Authorization", ""))
        key = signed[1] if signed else "-"
        with Path("asked.log").open("a") as log:
            payer = self.headers.get("x-amz-request-payer", "-")
            log.write(f"{self.command} {self.path} {key} {payer}\n")
        behaviour = json.loads(Path("behaviour.json").read_text())
        if len(Path("asked.log").read_text().splitlines()) <= behaviour.get("failing", 0):
            self._send(503, {"Retry-After": "2"}, b"")
            return
        if behaviour.get("trouble") == "hang":
            threading.Event().wait()
        if self.path in behaviour.get("redirects", {}):
            self._send(302, {"Location": behaviour["redirects"][self.path]}, b"")
            return
        file = Path(self.path.partition("?")[0].lstrip("/"))
        status = behaviour["status"].get(self.command, 200 if file.is_file() else 404)
        if behaviour.get("key", key) != key:
            status = 403
        if status != 200:
            self._send(status, {}, b"")
            return
        data = file.read_bytes()
        headers = {"Accept-Ranges": "bytes"} | behaviour["headers"]
        wanted = self.headers.get("Range")
        if wanted and behaviour.get("ranges", True):
            first, last = (int(n) for n in wanted.removeprefix("bytes=").split("-"))
            if first >= behaviour.get("end", len(data)):
                self._send(416, {"Content-Range": f"bytes */{len(data)}"}, b"")
                return
            last = min(last, len(data) - 1, first + behaviour.get("most", len(data)) - 1)
            said = behaviour.get("range", "bytes {first}-{last}/{total}")
            if said is not None:
                headers["Content-Range"] = said.format(first=first, last=last, total=len(data))
            data, status = data[first : last + 1], 206
        cut, slowly = behaviour.get("cut"), behaviour.get("trouble") == "drip"
        self._send(status, headers, data, body, slowly, cut)

    def _send(
        self,
        status: int,
        headers: dict[str, str],
        data: bytes,
        body: bool = True,
        slowly: bool = False,
        cut: int | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        for byte in data if body and slowly else b"":
            self.wfile.write(bytes([byte]))
            time.sleep(0.1)
        if body and not slowly:
            self.wfile.write(data[:cut])

    def log_message(self, format: str, *args: Any) -> None:
        return


def serve_tls(port: int, certificate: str) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        threading.Thread(target=serve_tls, args=(int(sys.argv[2]), sys.argv[3])).start()
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
