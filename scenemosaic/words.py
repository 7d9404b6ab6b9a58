"""Counts in messages for people."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """``1 window``, ``2 windows``, ``0 windows``; ``plural`` where an s is not enough."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
