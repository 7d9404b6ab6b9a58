"""Standard streams that are closed or full: a command neither stumbles over them nor hides it."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

import click

from scenemosaic.errors import StoreError


class OutputFailed(StoreError):
    """Standard output takes no more."""

    kind = "output"


def open_closed_streams() -> None:
    """Make /dev/null of each standard stream that is closed.

    Otherwise the next file that is opened, an output perhaps, takes its number and its messages.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    sys.stdin = sys.stdin or open(0)  # noqa: SIM115 - as long as the process
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115


def print_answer(text: str) -> None:
    """A command's answer on stdout. Raises OutputFailed where that takes it not."""
    try:
        click.echo(text)
    except OSError as error:
        drop(sys.stdout)
        raise OutputFailed(
            f"stdout: {error.strerror or error}; what the command did stands, its answer is lost"
        ) from error


def print_note(text: str) -> None:
    """A line on stderr; there is nobody to tell where that takes it not."""
    with _unheard():
        click.echo(text, err=True)


class Notes:
    """Stderr for progress and logs, which no command is ended by: nobody else can be told."""

    def write(self, text: str, /) -> None:
        with _unheard():
            sys.stderr.write(text)

    def flush(self) -> None:
        with _unheard():
            sys.stderr.flush()

    def isatty(self) -> bool:
        return sys.stderr.isatty()


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    try:
        yield
    except OSError:
        drop(sys.stderr)


def drop(stream: TextIO) -> None:
    """What the stream still holds, and all after it, goes nowhere."""
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
