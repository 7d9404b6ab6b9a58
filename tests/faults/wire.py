"""HTTP/1.1 as the fault proxy needs it: heads, framing, and what a request could change."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

_CHUNK = 1 << 16
_READS = ("BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems")


@dataclass
class Request:
    """One request as it was seen; ``body_bytes`` and ``status`` grow while it runs."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body_bytes: int = 0
    status: int | None = None  # the upstream's final status
    fault: object = None  # a Fault, a delay in seconds, or None
    raw_head: bytes = field(default=b"", repr=False)

    @property
    def operation(self) -> str:
        """DynamoDB's operation (``PutItem``), or ``""``."""
        return self.headers.get("x-amz-target", "").rpartition(".")[2]

    @property
    def mutating(self) -> bool:
        """Whether it could change anything. An unknown DynamoDB operation could."""
        if self.operation:
            return not self.operation.startswith(("Describe", "List", *_READS))
        return self.method in ("PUT", "POST", "DELETE", "PATCH")


def parse_request(head: bytes) -> Request:
    line, *fields = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = line.split(" ", 2)
    path, _, query = target.partition("?")
    pairs = (name_value.partition(":") for name_value in fields)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Request(method, path, query, headers, raw_head=head)


def expects_continue(request: Request) -> bool:
    return request.headers.get("expect", "").lower() == "100-continue"


def upstream_head(request: Request, *, expect: bool) -> bytes:
    dropped = (b"connection:",) if expect else (b"connection:", b"expect:")
    lines = request.raw_head.rstrip(b"\r\n").split(b"\r\n")
    kept = [line for line in lines if not line.lower().startswith(dropped)]
    return b"\r\n".join([*kept, b"Connection: close", b"", b""])


def client_head(request: Request, head: bytes) -> tuple[bytes, bool]:
    """The reply's head without ``Connection``, and whether its end can be told without it."""
    lines = head.rstrip(b"\r\n").split(b"\r\n")
    names = {line.partition(b":")[0].strip().lower() for line in lines[1:]}
    bodiless = request.method == "HEAD" or status_of(head) in (204, 304)
    framed = bodiless or bool(names & {b"content-length", b"transfer-encoding"})
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*kept, *([] if framed else [b"Connection: close"]), b"", b""]), framed


def status_of(head: bytes) -> int:
    return int(head.split(b" ", 2)[1])


async def final_head(reader: asyncio.StreamReader, relay: asyncio.StreamWriter | None) -> bytes:
    """The head of the final answer; interim ones (100) are relayed."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        if status_of(head) >= 200:
            return head
        if relay is not None:
            relay.write(head)
            await relay.drain()


async def body_of(request: Request, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The request's body as framed on the wire, counted without the frames."""
    if "chunked" in request.headers.get("transfer-encoding", "").lower():
        size = None
        while size != 0:
            line = await reader.readline()
            size = int(line.split(b";")[0], 16)
            yield line + await reader.readexactly(size)
            request.body_bytes += size
            if size:
                yield await reader.readexactly(2)
        while (trailer := await reader.readline()) != b"\r\n":
            yield trailer
        yield b"\r\n"
        return
    left = int(request.headers.get("content-length", "0"))
    while left:
        piece = await reader.read(min(left, _CHUNK))
        if not piece:
            raise asyncio.IncompleteReadError(piece, left)
        left -= len(piece)
        request.body_bytes += len(piece)
        yield piece


def reset(writer: asyncio.StreamWriter) -> None:
    """Close so that the other side sees a reset, not an end."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
