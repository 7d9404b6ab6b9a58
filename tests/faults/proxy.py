"""A reverse proxy that counts requests and, by rule, loses replies or refuses requests.

It stands between a client under test and a real server. Requests and replies pass
through as they are (signed headers, chunks, ``Expect: 100-continue``, an answer that
comes before the body), but for ``Connection``: each request has an upstream
connection of its own, and the client's one is kept alive.
"""

import asyncio
import contextlib
import enum
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from tests.faults.wire import (
    Request,
    body_of,
    client_head,
    expects_continue,
    final_head,
    parse_request,
    reset,
    status_of,
    upstream_head,
)

_CHUNK = 1 << 16
_LOOK_S = 0.02
_XML = "<?xml version='1.0'?><Error><Code>{code}</Code><Message>fault proxy</Message></Error>"
_JSON = '{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"fault proxy"}}'


class Fault(enum.Enum):
    """What happens to one request."""

    RESET = "forwarded; the reply is lost by a connection reset"
    HANG = "forwarded; the reply never comes, until the client gives up"
    ANSWER_500 = "forwarded; the reply is replaced by 500"
    ANSWER_503 = "forwarded; the reply is replaced by 503"
    DRIP = "forwarded; the reply comes byte by byte, each after Proxy.drip_s"
    CUT_REPLY = "forwarded; half of the reply comes, then the connection ends"
    CUT_REQUEST = "half of the body is forwarded, then both connections end"
    HOLD = "not forwarded before release(); the client sees a reset at once"
    PAUSE = "kept waiting, client and all, until the rule says something else of it"
    REFUSE_409 = "not forwarded; answered by 409 ConditionalRequestConflict"
    REFUSE_503 = "not forwarded; answered by 503 SlowDown"
    REFUSE_403 = "not forwarded; answered by 403 AccessDenied"


_REFUSALS = (Fault.REFUSE_403, Fault.REFUSE_409, Fault.REFUSE_503)
LOST_REPLIES = (Fault.RESET, Fault.HANG, Fault.ANSWER_500, Fault.ANSWER_503, Fault.CUT_REPLY)
_REPLACED = {
    Fault.ANSWER_500: (500, "Internal Server Error", "InternalError", "InternalServerError"),
    Fault.ANSWER_503: (503, "Service Unavailable", "ServiceUnavailable", "ServiceUnavailable"),
    Fault.REFUSE_503: (503, "Slow Down", "SlowDown", "ThrottlingException"),
    Fault.REFUSE_403: (403, "Forbidden", "AccessDenied", "AccessDeniedException"),
    Fault.REFUSE_409: (
        *(409, "Conflict", "ConditionalRequestConflict"),
        "TransactionConflictException",
    ),
}


Rule = Callable[[Request], "Fault | float | None"]


def no_faults(request: Request) -> None:
    """The rule of a proxy that only counts."""


def seeded(
    probability: float,
    seed: int,
    faults: Sequence[Fault] = LOST_REPLIES,
    only: Callable[[Request], bool] = lambda request: request.mutating,
) -> Rule:
    """A rule that strikes the requests chosen by ``only`` with this probability."""
    chance, lock = random.Random(seed), threading.Lock()

    def rule(request: Request) -> Fault | None:
        with lock:
            strikes = only(request) and chance.random() < probability
            return chance.choice(faults) if strikes else None

    return rule


def once(fault: Fault, only: Callable[[Request], bool] = lambda request: request.mutating) -> Rule:
    """A rule that strikes the first request chosen by ``only``, and no other."""
    left, lock = [fault], threading.Lock()

    def rule(request: Request) -> Fault | None:
        with lock:
            return left.pop() if left and only(request) else None

    return rule


class Proxy:
    """``with Proxy(endpoint, rule) as proxy`` serves at ``proxy.url`` from a thread of its own.

    A rule returns the fault for a request, a delay in seconds, or None. ``rule`` may
    be set while it runs.
    """

    def __init__(self, upstream: str, rule: Rule = no_faults, drip_s: float = 0.05) -> None:
        parts = urlsplit(upstream)
        self.drip_s = drip_s
        self._upstream = (parts.hostname or "127.0.0.1", parts.port or 80)
        self.rule = rule
        self._seen: list[Request] = []
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._released = asyncio.Event()
        self._held: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy")

    def __enter__(self) -> "Proxy":
        self._thread.start()
        started = asyncio.run_coroutine_threadsafe(self._listen(), self._loop)
        self.url = f"http://127.0.0.1:{started.result(10)}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in order of arrival."""
        with self._lock:
            return list(self._seen)

    @property
    def mutations(self) -> list[Request]:
        """The requests that could have changed something."""
        return [request for request in self.requests if request.mutating]

    def counts(self) -> Counter[tuple[str, str, str]]:
        """How many requests by (method, path, DynamoDB operation)."""
        return Counter((seen.method, seen.path, seen.operation) for seen in self.requests)

    def clear(self) -> None:
        """Forget what was seen."""
        with self._lock:
            self._seen.clear()

    def release(self) -> None:
        """Forward every held request now, and return once each has had its answer."""
        asyncio.run_coroutine_threadsafe(self._release(), self._loop).result(60)

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        return int(self._server.sockets[0].getsockname()[1])

    async def _release(self) -> None:
        self._released.set()
        await asyncio.gather(*self._held)
        self._released.clear()

    async def _stop(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for _ in range(3):  # lets transports that were told to close do so
            await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    await writer.drain()
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; True where the client's connection is good for another."""
        request = parse_request(await reader.readuntil(b"\r\n\r\n"))
        request.fault = fault = self.rule(request)
        with self._lock:
            self._seen.append(request)
        while fault is Fault.PAUSE:
            await asyncio.sleep(_LOOK_S)
            request.fault = fault = self.rule(request)
        if isinstance(fault, float | int):
            await asyncio.sleep(fault)
        if fault in _REFUSALS:
            return await self._refuse(request, fault, reader, writer)
        if fault is Fault.HOLD:
            await self._hold(request, reader, writer)
            return False
        return await self._forward(request, fault, reader, writer)

    async def _refuse(
        self,
        request: Request,
        fault: Fault,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        early = expects_continue(request)
        if not early:
            async for _ in body_of(request, reader):
                pass
        writer.write(_replacement(request, fault))
        await writer.drain()
        return not early  # the body that never came cannot be told from a next request

    async def _hold(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if expects_continue(request):
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = b"".join([piece async for piece in body_of(request, reader)])
        reset(writer)
        task = asyncio.ensure_future(self._forward_later(request, body))
        self._held.add(task)
        task.add_done_callback(self._held.discard)

    async def _forward_later(self, request: Request, body: bytes) -> None:
        await self._released.wait()
        up_reader, up_writer = await asyncio.open_connection(*self._upstream)
        up_writer.write(upstream_head(request, expect=False) + body)
        head = await final_head(up_reader, None)
        request.status = status_of(head)
        await up_reader.read()
        up_writer.close()

    async def _forward(
        self,
        request: Request,
        fault: "Fault | float | None",
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        up_reader, up_writer = await asyncio.open_connection(*self._upstream, limit=1 << 20)
        up_writer.write(upstream_head(request, expect=True))
        pump = asyncio.ensure_future(_pump(request, fault, reader, up_writer))
        # A client that died in the middle of its request gets no answer, and nobody waits for one.
        pump.add_done_callback(lambda done: _has_failed(done) and up_writer.close())
        try:
            if fault is Fault.CUT_REQUEST:
                await pump
                reset(up_writer)
                reset(writer)
                return False
            # The body goes up while the answer comes down: the answer may be early.
            head = await final_head(up_reader, writer)
            request.status = status_of(head)
            alive = await self._reply(request, fault, head, up_reader, reader, writer)
            return alive and pump.done()
        finally:
            pump.cancel()
            up_writer.close()
            await asyncio.gather(pump, return_exceptions=True)

    async def _reply(
        self,
        request: Request,
        fault: "Fault | float | None",
        head: bytes,
        up_reader: asyncio.StreamReader,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """Relay the reply, or lose it once the upstream has said all of it."""
        head, framed = client_head(request, head)
        if not isinstance(fault, Fault):
            writer.write(head)
            while piece := await up_reader.read(_CHUNK):
                writer.write(piece)
                await writer.drain()
            return framed
        body = await up_reader.read()
        if fault is Fault.HANG:
            await reader.read()
        elif fault is Fault.DRIP:
            for byte in head + body:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(self.drip_s)
        elif fault is Fault.CUT_REPLY:
            # Half a head would pass for a whole one: clients take an end for a blank line.
            writer.write(head + body[: len(body) // 2] if body else b"HTTP/1.1")
            await writer.drain()
        elif fault is Fault.RESET:
            reset(writer)
        else:
            writer.write(_replacement(request, fault))
            return True
        return False


def _has_failed(task: "asyncio.Task[None]") -> bool:
    return not task.cancelled() and task.exception() is not None


async def _pump(
    request: Request,
    fault: "Fault | float | None",
    reader: asyncio.StreamReader,
    upstream: asyncio.StreamWriter,
) -> None:
    whole = int(request.headers.get("content-length", "0"))
    async for piece in body_of(request, reader):
        if fault is Fault.CUT_REQUEST and request.body_bytes > whole // 2:
            upstream.write(piece[: len(piece) // 2])
            await upstream.drain()
            return
        upstream.write(piece)
        await upstream.drain()


def _replacement(request: Request, fault: Fault) -> bytes:
    status, reason, s3_code, dynamo_code = _REPLACED[fault]
    if request.operation:
        kind, text = "application/x-amz-json-1.0", _JSON.format(code=dynamo_code)
        status = 400 if status in (403, 409) else status
    else:
        kind, text = "application/xml", _XML.format(code=s3_code)
    body = b"" if request.method == "HEAD" else text.encode()
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body
