"""fake-gcs-server with resumable sessions as Cloud Storage documents them.

The server's own sessions ignore every condition, and a question for their state ends
them. Here a session is kept by the front, and its object is made in the end by one
conditional request. Checksums that are sent are checked, which the server does not do.
"""

import base64
import json
import re
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import google_crc32c

from tests.stores.fronts import Answered, Asked, Front

QUANTUM = 256 << 10


@dataclass
class Session:
    objects: str
    resource: dict[str, Any]
    match: str
    held: bytearray = field(default_factory=bytearray)
    done: Answered | None = None


class GcsFront(Front):
    """``keeps`` holds how many bytes the next chunks may add: the rest of each is dropped."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.keeps: list[int] = []
        self.started = 0
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    def open_sessions(self) -> int:
        return sum(session.done is None for session in self._sessions.values())

    def forget_sessions(self) -> None:
        """What a week does to sessions that were never finished."""
        self._sessions.clear()

    def answer(self, asked: Asked) -> Answered:
        query = asked.query
        if "upload_id" in query:
            return self._continue(asked, query["upload_id"])
        if query.get("uploadType") == "resumable":
            return self._start(asked, query)
        if query.get("uploadType") == "multipart":
            resource, data = _parts(asked)
            if not _is_crc(data, resource["crc32c"]):
                return refusal(400, "invalid")
        return self.forward(asked)

    def _start(self, asked: Asked, query: dict[str, str]) -> Answered:
        self.started += 1
        resource = json.loads(asked.body)
        objects = asked.path.removeprefix("/upload")
        name = quote(resource["name"], safe="")
        found = self.forward(Asked("GET", f"{objects}/{name}", {}, b""))
        stands = json.loads(found.body)["generation"] if found.status == 200 else "0"
        if stands != query["ifGenerationMatch"]:
            return refusal(412, "conditionNotMet")
        upload_id = uuid.uuid4().hex
        self._sessions[upload_id] = Session(objects, resource, query["ifGenerationMatch"])
        where = f"http://{asked.headers['host']}{asked.path}?uploadType=resumable"
        return Answered(200, b"", {"Location": f"{where}&upload_id={upload_id}"})

    def _continue(self, asked: Asked, upload_id: str) -> Answered:
        session = self._sessions.get(upload_id)
        if session is None:
            return refusal(404, "notFound")
        if asked.method == "DELETE":
            del self._sessions[upload_id]
            return refusal(499, "")
        with self._lock:
            answered = session.done or self._add(asked, session)
            if answered.status == 412:
                del self._sessions[upload_id]
            elif answered.status != 308:
                session.done = answered
            return answered

    def _add(self, asked: Asked, session: Session) -> Answered:
        start, total = re.fullmatch(  # type: ignore[union-attr]
            r"bytes (\*|\d+)(?:-\d+)?/(\d+)", asked.headers["content-range"]
        ).groups()
        if start != "*":
            assert int(start) == len(session.held)
            assert len(asked.body) % QUANTUM == 0 or int(start) + len(asked.body) == int(total)
            session.held += asked.body[: self.keeps.pop(0) if self.keeps else None]
        if len(session.held) < int(total):
            held = {"Range": f"bytes=0-{len(session.held) - 1}"} if session.held else {}
            return Answered(308, b"", held)
        if not _is_crc(session.held, asked.headers["x-goog-hash"].removeprefix("crc32c=")):
            return refusal(400, "invalid")
        return self._finish(session)

    def _finish(self, session: Session) -> Answered:
        head = f"--b\r\nContent-Type: application/json\r\n\r\n{json.dumps(session.resource)}\r\n"
        kind = f"--b\r\nContent-Type: {session.resource['contentType']}\r\n\r\n"
        body = (head + kind).encode() + session.held + b"\r\n--b--\r\n"
        target = f"/upload{session.objects}?uploadType=multipart&ifGenerationMatch={session.match}"
        headers = {"content-type": "multipart/related; boundary=b"}
        return self.forward(Asked("POST", target, headers, bytes(body)))


def refusal(status: int, reason: str) -> Answered:
    told = {"error": {"code": status, "message": reason, "errors": [{"reason": reason}]}}
    return Answered(status, json.dumps(told).encode(), {"X-GUploader-UploadID": "R1"})


def _parts(asked: Asked) -> tuple[dict[str, Any], bytes]:
    boundary = asked.headers["content-type"].partition('boundary="')[2].rstrip('"').encode()
    _, first, rest = asked.body.split(b"--" + boundary + b"\r\n", 2)
    data = rest.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n--" + boundary + b"--\r\n")
    return json.loads(first.partition(b"\r\n\r\n")[2]), data


def _is_crc(data: bytes | bytearray, sent: str) -> bool:
    return int.from_bytes(base64.b64decode(sent), "big") == google_crc32c.value(bytes(data))
