"""What this process has begun and will finish, also where it is asked to end."""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from scenemosaic.words import counted

# A scene is finished with all its windows.
_NOUNS: Final = ("scene", "window")
_held: Final[Counter[str]] = Counter()
_lock: Final = threading.Lock()


@contextmanager
def scene() -> Iterator[None]:
    """One scene is in hand for the length of a ``with`` block."""
    _add("scene", 1)
    try:
        yield
    finally:
        _add("scene", -1)


def windows(numbers: Iterable[int]) -> Iterator[int]:
    """The same numbers, all of them in hand until the caller has done with each."""
    left = list(numbers)
    _add("window", len(left))
    done = 0
    try:
        for number in left:
            yield number
            _add("window", -1)
            done += 1
    finally:
        _add("window", done - len(left))


def said() -> str | None:
    """``3 windows``, or None where nothing is in hand; takes no lock, as for a signal's handler."""
    return next((counted(_held[noun], noun) for noun in _NOUNS if _held[noun] > 0), None)


def _add(noun: str, number: int) -> None:
    with _lock:
        _held[noun] += number
