"""Asks the process that forks (tests/forked.py) for a fork, and says how it ended.

``python -S tests/asking.py ADDRESS MODULE ARGUMENTS`` is such a fork for whoever needs a program:
it stands where that stands, with its environment and its streams, and its exit code is that one's.
"""

import json
import os
import socket
import sys
from collections.abc import Mapping, Sequence

NUMBER = 9  # as many digits


def ask(
    address: str,
    module: str,
    arguments: Sequence[str],
    folder: str,
    env: Mapping[str, str],
    streams: Sequence[int],
) -> socket.socket:
    """A connection on which come the fork's process ID and, once it has ended, its exit code."""
    asked = socket.socket(socket.AF_UNIX)
    asked.connect(address)
    text = json.dumps([module, list(arguments), folder, dict(env)]).encode()
    socket.send_fds(asked, [b"%*d" % (NUMBER, len(text))], list(streams))
    asked.sendall(text)
    return asked


def received(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        if not more:
            raise ConnectionError("the process that forks is gone")
        found += more
    return found


def _main(name: str, module: str, *arguments: str) -> int:
    with ask(f"\0{name}", module, arguments, os.getcwd(), os.environ, [0, 1, 2]) as asked:
        received(asked, NUMBER)
        code = int(received(asked, NUMBER))
    # As a shell has it of a process that a signal ended.
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
