"""The deadline of a call: what it allows each wait, and what ends it. Sockets are real pairs."""

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
import urllib3

from scenemosaic.errors import InputError
from scenemosaic.waiting.deadlines import (
    VARIABLE,
    Deadlines,
    TimedSocket,
    deadlines_from,
    time_connections,
    within,
)

SHORT = Deadlines(call_s=0.2, bytes_per_s=1 << 20)


@pytest.fixture
def pair() -> Iterator[tuple[TimedSocket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield TimedSocket(ours), theirs


def test_a_drip_ends_with_the_call(pair: tuple[TimedSocket, socket.socket]) -> None:
    ours, theirs = pair
    ours.settimeout(60.0)
    theirs.sendall(b"x")
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.01):
            theirs.sendall(b"x")

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        with within(SHORT) as ending, pytest.raises(TimeoutError):
            ours.makefile("rb").read(1 << 20)
        assert ending.over
    finally:
        stop.set()
        dripping.join()
    assert ours.gettimeout() == 60.0


def test_a_peer_that_takes_nothing_ends_with_the_call(
    pair: tuple[TimedSocket, socket.socket],
) -> None:
    with within(SHORT), pytest.raises(TimeoutError):
        pair[0].sendall(bytes(64 << 20))


def test_what_moves_is_given_more_time(pair: tuple[TimedSocket, socket.socket]) -> None:
    ours, theirs = pair
    data = bytes(range(256)) * 8192
    got = bytearray()

    def take() -> None:
        while len(got) < len(data):
            got.extend(theirs.recv(1 << 16))
        theirs.sendall(data)

    taking = threading.Thread(target=take)
    taking.start()
    with within(Deadlines(call_s=30.0, bytes_per_s=1 << 10)) as ending:
        ours.sendall(data)
        assert ours.makefile("rb").read(len(data)) == bytes(got) == data
    taking.join()
    assert ending.total_s == 30.0 + 2 * len(data) / 1024


def test_after_the_call_nothing_is_timed(pair: tuple[TimedSocket, socket.socket]) -> None:
    ours, theirs = pair
    with within(Deadlines(call_s=1e-9)), within(Deadlines(call_s=60.0)):
        theirs.sendall(b"a")
        assert ours.makefile("rb").read(1) == b"a"  # the inner call's own time
    with within(Deadlines(call_s=1e-9)):
        time.sleep(0.001)
        with pytest.raises(TimeoutError, match="no whole answer within 1e-09 s"):
            ours.sendall(b"b")
    ours.sendall(b"c")
    assert theirs.recv(10) == b"c"


def test_it_closes_with_its_last_file(pair: tuple[TimedSocket, socket.socket]) -> None:
    ours, theirs = pair
    file = ours.makefile("rb")
    ours.close()
    theirs.sendall(b"still")
    assert file.read(5) == b"still"
    file.close()
    assert ours.fileno() == -1
    assert theirs.recv(1) == b""


@contextlib.contextmanager
def server(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Answers one connection after another, until it is closed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(1 << 16)
                        answer(connection)

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield int(listener.getsockname()[1])


def test_urllib3s_connections_keep_the_deadline() -> None:
    def drip(connection: socket.socket) -> None:
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + bytes(9999):
            connection.sendall(bytes([byte]))
            time.sleep(0.01)

    with server(drip) as port, urllib3.PoolManager(retries=False) as manager:
        time_connections(manager)
        with within(SHORT) as ending, pytest.raises((urllib3.exceptions.HTTPError, OSError)):
            manager.request("GET", f"http://127.0.0.1:{port}/", timeout=60.0)
        assert ending.over


def test_an_answer_without_a_length_is_read_to_its_end() -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 100_000)

    with server(answer) as port, urllib3.PoolManager(retries=False) as manager:
        time_connections(manager)
        with within(Deadlines()):
            found = manager.request("GET", f"http://127.0.0.1:{port}/")
        assert (found.status, len(found.data)) == (http.client.OK, 100_000)


def test_the_environment_shortens_every_wait() -> None:
    assert deadlines_from({}) == Deadlines()
    short = deadlines_from({VARIABLE: "6"})
    assert (short.connect_s, short.silence_s, short.call_s, short.finish_s) == (6, 6, 6, 45)
    long = deadlines_from({VARIABLE: "240"}, Deadlines(silence_s=30))
    assert (long.connect_s, long.silence_s, long.call_s, long.finish_s) == (10, 30, 240, 1800)
    assert long.copying_s(40 << 20) == 250


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "ten"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=VARIABLE):
        deadlines_from({VARIABLE: text})
