"""The commands of a document: what stands in its blocks of console and shell."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import REPOSITORY

DOCS = REPOSITORY / "docs"
# Blocks with these titles are told apart; every other block is run where it stands, but for
# the restore drill, which has a test of its own.
NOT_RUN = "not run by the tests"
ELSEWHERE = "another terminal"
_BLOCK = re.compile(
    r"(?<!<!-- the drill -->\n)"
    r'^```(?P<kind>console|sh)(?: title="(?P<title>[^"]*)")?\n(?P<text>.*?)^```$',
    re.DOTALL | re.MULTILINE,
)
_TURN = re.compile(r"((?:[^\n]*\\\n)*[^\n]*)(.*)", re.DOTALL)
_EXIT = re.compile(r" +# exit (\d)\b.*$")


@dataclass(frozen=True)
class Command:
    """A command as it is typed, the exit code and the lines that the document promises."""

    document: str
    text: str
    code: int
    said: str
    elsewhere: bool

    def is_as_promised(self, promised: str, out: str) -> bool:
        """Whether ``out`` is what the document shows, in which … stands for anything."""
        pattern = ".*".join(map(re.escape, promised.split("…")))
        return not promised or re.fullmatch(pattern, out, re.DOTALL) is not None


def blocks(path: Path) -> Iterator[tuple[str, str, str]]:
    """Kind, title and text of each block of commands."""
    for found in _BLOCK.finditer(path.read_text()):
        yield found["kind"], found["title"] or "", found["text"]


def commands(name: str) -> list[Command]:
    """Those of ``docs/NAME`` that are run, in their order."""
    found = []
    for kind, title, text in blocks(DOCS / name):
        if NOT_RUN not in title:
            lines = _console(text) if kind == "console" else _shell(text)
            found += [_command(name, line, said, ELSEWHERE in title) for line, said in lines]
    return found


def _console(text: str) -> Iterator[tuple[str, str]]:
    """Commands stand behind ``$ `` and go on behind a backslash; then what they say."""
    for turn in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, said = _TURN.fullmatch(turn).groups()  # type: ignore[union-attr]
        yield command, said.strip()


def _shell(text: str) -> Iterator[tuple[str, str]]:
    for line in text.replace("\\\n", " ").splitlines():
        if line and not line.startswith("#"):
            yield line, ""


def _command(name: str, line: str, said: str, elsewhere: bool) -> Command:
    code = _EXIT.search(line)
    return Command(name, _EXIT.sub("", line), int(code[1]) if code else 0, said, elsewhere)
