"""Counts and lists in messages for people."""

from collections.abc import Sequence


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """``1 window``, ``2 windows``, ``0 windows``; ``plural`` where an s is not enough."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def some(names: Sequence[str], most: int = 8) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
