"""Tables in Markdown."""

from collections.abc import Iterable, Iterator, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table, with an empty one before and behind."""
    yield ""
    yield _line(heads)
    yield _line(["---"] * len(heads))
    yield from map(_line, rows)
    yield ""


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(cell, cells)) + " |"


def cell(text: str) -> str:
    """Text that stays in one cell."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """The text as code, or nothing."""
    return f"`{text}`" if text else ""


def prose(text: str) -> str:
    """A docstring's text with Markdown's marks for code instead of reStructuredText's."""
    for name in ("mod", "func", "class", "data"):
        text = text.replace(f":{name}:`", "`")
    return text.replace("``", "`")
