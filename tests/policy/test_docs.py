"""The documents name every statement that is printed, and only commands that are there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from flows.cli import cli
from scenemosaic.policy.advice import Advice
from scenemosaic.policy.needs import Role
from tests.conftest import REPOSITORY
from tests.policy.conftest import bucket_policy, iam_policy

DOCS = REPOSITORY / "docs"
SECURITY = (DOCS / "security.md").read_text()
VALUES = {"ROOT": "s3://bucket/root", "JOB": "0123456789abcdef" * 2, "RUN": "run"}


def sids(advice: Advice) -> set[str]:
    documents = [bucket_policy(advice), *(iam_policy(advice, role.value) for role in Role)]
    return {one["Sid"] for document in documents for one in document["Statement"]}


def test_every_statement_is_explained(advice: Advice) -> None:
    explained = set(re.findall(r"^\| (`[A-Z].*?) \|", SECURITY, re.MULTILINE))
    named = {name for cell in explained for name in re.findall(r"`([A-Za-z]+)`", cell)}
    assert named == sids(advice)


def test_every_role_is_explained() -> None:
    for role in Role:
        assert f"\n| {role.value} | " in SECURITY


def commands() -> Iterator[tuple[str, str]]:
    """Each line of a shell block that runs this program, with the document it stands in."""
    for path in sorted(DOCS.glob("*.md")):
        for block in re.findall(r"^```sh\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("scenemosaic "):
                    yield path.name, line


@pytest.mark.parametrize(("document", "line"), list(commands()))
def test_every_command_is_there(document: str, line: str) -> None:
    for name, value in VALUES.items():
        line = re.sub(rf"\${name}\b", value, line)
    _, verb, *arguments = shlex.split(line, comments=True)
    command = cli.commands[verb]
    while isinstance(command, click.Group):
        verb, *arguments = arguments
        command = command.commands[verb]
    command.make_context(verb, arguments)  # raises where it does not parse


LINK = re.compile(r"\[[^\]]+\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)")


@pytest.mark.parametrize("name", ["security.md", "operations.md"])
def test_every_link_leads_somewhere(name: str) -> None:
    for path, anchor in LINK.findall((DOCS / name).read_text()):
        target = DOCS / (path or name)
        assert target.exists(), path
        assert not anchor or anchor[1:] in anchors(target), anchor


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in heads}
