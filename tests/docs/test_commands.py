"""Every command of the documents is run, in its order, and says what the document shows."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.docs.documents import DOCS, commands
from tests.docs.ground import prepare
from tests.docs.shell import Terminal, terminal
from tests.flows.conftest import served_server
from tests.flows.serving import serving_env

__all__ = ["served_server"]

TUTORIAL = tuple(f"tutorial/{name}.md" for name in ("first", "s3", "nightly", "backfill", "repair"))
OPERATOR = ("operations.md", "security.md")
DOCUMENTED_API = "http://127.0.0.1:4200/api"
# The pages' own ways to the state that a command is for.
BEFORE = {
    "scenemosaic waive ": "JOB=$UNFINISHED",
    "scenemosaic preflight s3://bucket/root ": "aws s3 mb s3://bucket && "
    "scenemosaic init s3://bucket/root",
}
Open = Callable[..., Terminal]


@pytest.fixture
def opened(ministack: str, served_server: str, tmp_path: Path) -> Iterator[Open]:
    """Terminals of somebody who has an emulator for AWS, and a Prefect server that runs."""
    with ExitStack() as stack:
        env = {"AWS_ENDPOINT_URL": ministack, **serving_env(served_server)}

        def open_one(name: str, **variables: str) -> Terminal:
            made = terminal(tmp_path / name, env | variables, {DOCUMENTED_API: served_server})
            return stack.enter_context(made)

        yield open_one


def test_no_page_is_left_out() -> None:
    written = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    with_commands = {name for name in written if not name.startswith("adr/") and commands(name)}
    assert with_commands == {*TUTORIAL, *OPERATOR}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_command(opened: Open, tmp_path: Path) -> None:
    """One test, since they share what takes longest: Prefect's server."""
    person = opened("home")
    for page in TUTORIAL:
        for command in commands(page):
            person.run(command)
    operator = opened("work", **prepare(tmp_path))
    for page in OPERATOR:
        for command in commands(page):
            for start, state in BEFORE.items():
                if command.text.startswith(start):
                    operator.prepare(state)
            operator.run(command)
