"""Ctrl-C and SIGTERM: the first ends a command once what it has in hand is done, the second now."""

import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Final

from scenemosaic.machine import in_hand

NAMES: Final[Mapping[int, str]] = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}
_CLEAR: Final = "\r\x1b[2K"


class Stopped(KeyboardInterrupt):
    """The user, or whoever ends processes here, wants the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = _exit_code(number)


def end_in_order() -> None:
    """Let both signals raise Stopped in the main thread, once."""
    for number in NAMES:
        signal.signal(number, _stop)


def exit_code(error: BaseException) -> int:
    """The exit code of a command that this ended; it may be the cause of what was raised."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, Stopped):
            return seen.exit_code
        seen = seen.__cause__ or seen.__context__
    return _exit_code(signal.SIGINT)


def _exit_code(number: int) -> int:
    return 128 + number


def _stop(number: int, frame: FrameType | None) -> None:
    for one in NAMES:
        signal.signal(one, lambda again, _: os._exit(_exit_code(again)))
    if (held := in_hand.said()) is not None:
        _say(f"scenemosaic: finishing {held} in hand; {NAMES[number]} again ends now\n")
    raise Stopped(number)


def _say(line: str) -> None:
    """Past the stream: what the signal has interrupted may be writing to it."""
    with contextlib.suppress(OSError):
        number = sys.stderr.fileno()
        os.write(number, ((_CLEAR if os.isatty(number) else "") + line).encode())
