"""The parts of ``bench/RESULTS.md`` that a command writes: each between two comments."""

from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


def replaced(text: str, name: str, lines: Sequence[str]) -> str:
    """``text`` with other lines in the part ``name``. Raises ValueError where it has none."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"there is no part {name}: put {begin.strip()} and {end.strip()} there")
    body = "\n".join(lines)
    return f"{before}{begin}\n{body}\n\n{end}{after}"


def write(name: str, lines: Sequence[str]) -> None:
    """Replace the part ``name`` of the file."""
    RESULTS.write_text(replaced(RESULTS.read_text("utf-8"), name, lines), "utf-8")
