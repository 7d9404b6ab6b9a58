"""Every request to a remote service ends in time, however slowly its bytes drip.

The clients' own time-outs bound one wait each: a server that sends a byte now and then
holds them for ever. So their connections are timed here: no wait on one of them goes on
beyond the deadline of the call that its thread is in.
"""

import contextlib
import math
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scenemosaic.errors import InputError

_SLICE_BYTES = 256 << 10
VARIABLE = "SCENEMOSAIC_CALL_DEADLINE_S"


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds after which a request is given up: to connect, in silence, and in all.

    ``call_s`` is for a request as such. Each ``bytes_per_s`` that have gone over the network
    add a second to it, and each ``copied_bytes_per_s`` that the store copies by itself.
    ``finish_s`` is for making one object of many parts.
    """

    connect_s: float = 10.0
    silence_s: float = 60.0
    call_s: float = 120.0
    finish_s: float = 900.0
    bytes_per_s: int = 64 << 10
    copied_bytes_per_s: int = 4 << 20

    def copying_s(self, size_bytes: int) -> float:
        """The deadline of a request for which the store has to copy so many bytes."""
        return self.call_s + size_bytes / self.copied_bytes_per_s


def deadlines_from(environment: Mapping[str, str], base: Deadlines | None = None) -> Deadlines:
    """``base``, or the defaults, with the ``call_s`` that ``SCENEMOSAIC_CALL_DEADLINE_S`` names.

    No wait is longer than that, and ``finish_s`` keeps its proportion.
    """
    base = base or Deadlines()
    call_s = call_s_from(environment)
    if call_s is None:
        return base
    return replace(
        base,
        connect_s=min(base.connect_s, call_s),
        silence_s=min(base.silence_s, call_s),
        call_s=call_s,
        finish_s=base.finish_s * call_s / base.call_s,
    )


def call_s_from(environment: Mapping[str, str]) -> float | None:
    """What ``SCENEMOSAIC_CALL_DEADLINE_S`` names. InputError where it is no time."""
    text = environment.get(VARIABLE)
    if text is None:
        return None
    with contextlib.suppress(ValueError):
        if math.isfinite(call_s := float(text)) and call_s > 0:
            return call_s
    raise InputError(f"{VARIABLE} is a number of seconds above 0, not {text!r}")


class Ending:
    """When a call ends: after ``total_s``, which grows with the bytes that it moves."""

    def __init__(self, total_s: float, bytes_per_s: int) -> None:
        self.total_s = total_s
        self._bytes_per_s = bytes_per_s
        self._begin = time.monotonic()

    @property
    def over(self) -> bool:
        return self._left_s() <= 0

    def allowed_s(self, usual: float | None) -> float | None:
        """How long one wait may take that would usually be given ``usual`` (None: for ever)."""
        left_s = self._left_s()
        if left_s <= 0:
            raise TimeoutError(str(self))
        if usual is None:
            return None if left_s == math.inf else left_s
        return min(usual, left_s)

    def _left_s(self) -> float:
        return self._begin + self.total_s - time.monotonic()

    def moved(self, size_bytes: int) -> None:
        """Bytes came or went: what moves at a fair rate is not given up."""
        self.total_s += size_bytes / self._bytes_per_s

    def __str__(self) -> str:
        return f"no whole answer within {self.total_s:.3g} s"


_ENDLESS = Ending(math.inf, 1)
_here = threading.local()


@contextlib.contextmanager
def within(deadlines: Deadlines, total_s: float | None = None) -> Iterator[Ending]:
    """What this thread waits for on timed connections ends by TimeoutError after ``total_s``.

    ``call_s`` where none is given.
    """
    outer = _ending()
    _here.ending = ending = Ending(total_s or deadlines.call_s, deadlines.bytes_per_s)
    try:
        yield ending
    finally:
        _here.ending = outer


def _ending() -> Ending:
    found: Ending = getattr(_here, "ending", _ENDLESS)
    return found


def time_connections(manager: Any) -> None:
    """Make a urllib3 pool manager's connections timed ones, before any is open."""
    manager.pool_classes_by_scheme = timed_pools(manager.pool_classes_by_scheme)


def timed_pools(classes: Mapping[str, Any]) -> dict[str, Any]:
    """urllib3's pool classes by scheme, or a client's own, as classes with timed connections."""
    return {scheme: _timed_pool(pool) for scheme, pool in classes.items()}


def timed_connection(connection: Any) -> Any:
    """A class of HTTP connections, ``http.client``'s or one below it, as one of timed ones."""
    return type(f"Timed{connection.__name__}", (_Timed, connection), {})


def _timed_pool(pool: Any) -> Any:
    connection = timed_connection(pool.ConnectionCls)
    return type(f"Timed{pool.__name__}", (pool,), {"ConnectionCls": connection})


_SOCKET: Any = socket.socket


class _Timed:
    """What makes an HTTP connection a timed one."""

    sock: Any
    timeout: float | None

    def connect(self) -> None:
        self.timeout = _ending().allowed_s(self.timeout)
        super().connect()  # type: ignore[misc]
        self.sock = TimedSocket(self.sock)


class TimedSocket:
    """A connected socket, plain or TLS, no wait of which outlasts its thread's call."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._io_refs = 0
        self._closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def recv_into(self, *args: Any) -> int:
        with self._timed() as ending:
            count: int = self._inner.recv_into(*args)
        ending.moved(count)
        return count

    def sendall(self, data: Any, *flags: Any) -> None:
        # In slices, as the time-out is that of a whole call, however much it sends.
        left = memoryview(data).cast("B")
        while left:
            with self._timed() as ending:
                self._inner.sendall(left[:_SLICE_BYTES], *flags)
            ending.moved(min(len(left), _SLICE_BYTES))
            left = left[_SLICE_BYTES:]

    @contextlib.contextmanager
    def _timed(self) -> Iterator[Ending]:
        ending, usual = _ending(), self._inner.gettimeout()
        self._inner.settimeout(ending.allowed_s(usual))
        try:
            yield ending
        finally:
            self._inner.settimeout(usual)

    # As socket.socket has it: its file objects keep it open.

    def makefile(self, *args: Any, **more: Any) -> Any:
        return _SOCKET.makefile(self, *args, **more)

    def close(self) -> None:
        self._closed = True
        if self._io_refs <= 0:
            self._inner.close()

    def _decref_socketios(self) -> None:
        self._io_refs -= 1
        if self._closed:
            self.close()
