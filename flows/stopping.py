"""Ctrl-C and SIGTERM: the first ends a command once what it has in hand is done, the second now."""

import os
import signal
from types import FrameType
from typing import Final

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Stopped(KeyboardInterrupt):
    """The user, or whoever ends processes here, wants the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = _exit_code(number)


def end_in_order() -> None:
    """Let both signals raise Stopped in the main thread, once."""
    for number in _SIGNALS:
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
    for one in _SIGNALS:
        signal.signal(one, lambda again, _: os._exit(_exit_code(again)))
    raise Stopped(number)
