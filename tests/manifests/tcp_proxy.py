"""A proxy of bytes that loses replies and requests on order, whatever the protocol is."""

import contextlib
import enum
import socket
import struct
import threading
from collections.abc import Callable
from types import TracebackType

_CHUNK = 1 << 16


class Fault(enum.Enum):
    """What becomes of a message from the client."""

    LOSE_REPLY = "it is served, and its reply is replaced by a reset"
    LOSE_REQUEST = "it never arrives, and the connection is reset"
    SILENCE = "it is served, and nothing is ever said again on this connection"


Rule = Callable[[bytes], Fault | None]


def first(fault: Fault, marker: bytes, times: int = 1) -> Rule:
    """The first ``times`` messages that hold ``marker`` meet ``fault``."""
    left = iter(range(times))
    lock = threading.Lock()

    def rule(message: bytes) -> Fault | None:
        if marker not in message:
            return None
        with lock:
            return fault if next(left, None) is not None else None

    return rule


class TcpProxy:
    """Forwards to a port of 127.0.0.1. ``rule`` may be changed at any time."""

    def __init__(self, upstream_port: int) -> None:
        self._upstream = ("127.0.0.1", upstream_port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = int(self._listener.getsockname()[1])
        self.rule: Rule = lambda _message: None
        self._open: set[socket.socket] = set()

    def __enter__(self) -> "TcpProxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Only this wakes the thread that accepts.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in list(self._open):
            _reset(each)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._upstream)
                self._open |= {client, server}
                pair = _Pair(client, server)
                for pump in (lambda pair=pair: pair.requests(self), pair.replies):
                    threading.Thread(target=pump, daemon=True).start()


class _Pair:
    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._client, self._server = client, server
        self._fault: Fault | None = None

    def requests(self, proxy: TcpProxy) -> None:
        with contextlib.suppress(OSError):
            while message := self._client.recv(_CHUNK):
                fault = proxy.rule(message)
                if fault is Fault.LOSE_REQUEST:
                    _reset(self._client)
                    break
                self._fault = self._fault or fault
                self._server.sendall(message)
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_WR)

    def replies(self) -> None:
        with contextlib.suppress(OSError):
            while reply := self._server.recv(_CHUNK):
                if self._fault is Fault.LOSE_REPLY:
                    break
                if self._fault is None:
                    self._client.sendall(reply)
        if self._fault is not Fault.SILENCE:
            _reset(self._client)
        self._server.close()


def _reset(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Wakes a thread that reads from it; closing alone does not.
        one.shutdown(socket.SHUT_RD)
        one.close()
