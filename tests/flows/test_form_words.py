"""What a flow shows names the fields of its form, and no option of a command."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks.mosaic_recipe import RecipeFields
from flows.reports.backfill import SceneRow
from flows.reports.form_words import FIELDS, in_form_words
from flows.reports.states import error_state
from flows.server.deployment_table import TABLE
from flows.server.serving import flow_of
from scenemosaic.errors import InputError

ROOT = Path(__file__).parents[2]
_OPTION = re.compile(r"--[a-z][a-z-]*")
# Whole commands, what only a command shows, and another program's option.
_COMMANDS = {
    *("repair/waive.py", "next_step.py", "committing/uploads.py", "policy/advice.py"),
    "planning/kept.py",
}
_OF_COMMANDS = {"--to", "--run-id", "--reason"}


def texts(path: Path) -> Iterator[str]:
    """The strings of a module but its docstrings."""
    tree = ast.parse(path.read_text())
    said = {one.value for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one not in said:
            yield one.value


def test_every_option_that_the_engine_names_has_a_field() -> None:
    found: set[str] = set()
    for path in (ROOT / "scenemosaic").rglob("*.py"):
        if path.relative_to(ROOT / "scenemosaic").as_posix() not in _COMMANDS:
            found.update(*(_OPTION.findall(text) for text in texts(path)))
    assert {"--effort", "--slots", "--source"} <= found
    assert found - _OF_COMMANDS <= set(FIELDS)


def test_every_field_is_one() -> None:
    taken = {name for entry in TABLE for name in flow_of(entry).parameters.properties}
    assert set(FIELDS.values()) <= taken | {f"recipe.{name}" for name in RecipeFields.model_fields}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("--effort: give a level", "recipe.effort: give a level"),
        ("allow more by --slots, or wait", "allow more by slots, or wait"),
        ("say with --source where it lies", "say with sources where it lies"),
        ("a multiple of the --block-size", "a multiple of the recipe.block_size"),
        ("see scenemosaic verify ab --to /r --manifest m", None),
        ("inspect `scenemosaic ledger show a --to /r`, and --source", None),
        ("--warp-resampling-of", None),
    ],
)
def test_options_become_fields(text: str, shown: str | None) -> None:
    expected = text.replace("and --source", "and sources") if shown is None else shown
    assert in_form_words(text) == expected


def test_states_and_tables_speak_so() -> None:
    error = InputError("give --nodata")
    state = error_state(error, error)
    assert (state.message, str(error)) == ("give recipe.nodata", "give --nodata")
    row = SceneRow("a.tif", None, "BadInput", "give --nodata")
    assert (row.to_table()["what happened"], row.detail) == ("give recipe.nodata", "give --nodata")
