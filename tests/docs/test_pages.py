"""The pages build without a warning and without a network; the reference says what is there."""

import re
import shlex
from inspect import cleandoc
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

from flows.cli import cli
from flows.server.deployment_table import TABLE
from reference import errors, scanned
from reference.commands import page as commands_page
from reference.flows import page as flows_page
from reference.pages import PAGES
from scenemosaic import errors as product
from tests.conftest import REPOSITORY
from tests.docs.documents import blocks

# What a browser fetches by itself, unlike a link that a person follows.
FETCHED = re.compile(r'<(?:script|img|iframe|source)[^>]*\ssrc="?(https?:)?//|@import|@font-face')
LINK = re.compile(r"\]\(<?([^)\s>]+)>?\)")
STYLES = re.compile(r'<link[^>]*rel="?stylesheet"?[^>]*href="?(?:https?:)?//')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    config = load_config(str(REPOSITORY / "mkdocs.yml"), site_dir=str(folder), strict=True)
    build(config)  # raises where there was a warning
    return folder


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text()
        assert not FETCHED.search(text), page
        assert not STYLES.search(text), page


def documents() -> list[Path]:
    """The pages of the checkout: those of the site, and those that stand elsewhere."""
    elsewhere = ("README.md", "CHANGELOG.md", "deployments/README.md", "bench/RESULTS.md")
    return [*sorted((REPOSITORY / "docs").rglob("*.md")), *(REPOSITORY / one for one in elsewhere)]


@pytest.mark.parametrize("page", documents(), ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_no_link_of_a_checkout_is_broken(page: Path) -> None:
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    links = [link for link in LINK.findall(text) if not re.match(r"[a-z]+:|#", link)]
    assert [link for link in links if not (page.parent / link.partition("#")[0]).exists()] == []


def test_the_reference_is_among_them(site: Path) -> None:
    listed = (site / "reference" / "index.html").read_text()
    assert all(f'href="{Path(name).stem}/"' in listed for name in PAGES)
    for name in ("commands", "flows", "blocks", "errors", "watching", "environment"):
        assert (site / "reference" / name / "index.html").stat().st_size > 0


def test_every_command_and_option_is_there() -> None:
    page = commands_page()
    for name, command in cli.commands.items():
        assert f"\n## {name}" in page
        for option in command.params:
            spelled = [one for one in option.opts if one.startswith("--")]
            assert all(one in page for one in spelled), (name, spelled)


def test_every_flow_and_parameter_is_described() -> None:
    page = flows_page()
    for entry in TABLE:
        assert entry.description in page
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) > 50
    assert [name for name, said in rows if not said.strip()] == []


def test_every_error_is_there_with_what_it_means() -> None:
    found = errors.errors()
    assert product.ForeignObject in found
    page = errors.page()
    for kind in found:
        assert kind.__doc__, kind
        assert f"| `{kind.kind}` | {kind.__name__} | {kind.exit_code} |" in page


def commands_elsewhere() -> list[str]:
    """The lines of this program in the two files that stand outside ``docs``."""
    readme = "".join(text for _, _, text in blocks(REPOSITORY / "README.md"))
    deployments = cleandoc((REPOSITORY / "deployments" / "README.md").read_text())
    lines = f"{readme}\n{deployments}".replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("scenemosaic ")]


@pytest.mark.parametrize("line", commands_elsewhere())
def test_commands_outside_the_pages_are_there(line: str) -> None:
    _, verb, *arguments = shlex.split(line, comments=True)
    cli.commands[verb].make_context(verb, arguments)  # raises where it does not parse


def test_a_name_without_a_description_stops_the_build() -> None:
    with pytest.raises(scanned.Undescribed, match="new"):
        scanned.described({"old", "new"}, {"old": "is described"}, "somewhere")
    with pytest.raises(scanned.Undescribed, match="gone"):
        scanned.described(set(), {"gone": "was described"}, "somewhere")
