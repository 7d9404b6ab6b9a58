"""Checks of the engine, as pydantic expects them."""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ConfigDict

from scenemosaic.errors import InputError

# An error's text does not repeat what was given: it may be a URL with a password in it.
QUIET = ConfigDict(extra="forbid", hide_input_in_errors=True)


@contextmanager
def as_value_error() -> Iterator[None]:
    """Let an InputError show beside the field it is about."""
    try:
        yield
    except InputError as error:
        raise ValueError(str(error)) from None
