"""docs/scenes.md names tests that are there, and says of the real scenes what is so."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from bench.scene_table import filled, main
from tests.conftest import REPOSITORY
from tests.plan.rasters import write_raster

DOCUMENT = REPOSITORY / "docs" / "scenes.md"
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", DOCUMENT.read_text())))


@cache
def _names_of(file: str) -> frozenset[str]:
    tree = ast.parse((REPOSITORY / "tests" / file).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_every_test_that_it_names_is_there() -> None:
    assert len(NAMED) > 40
    assert [f"{file}::{name}" for file, name in NAMED if name not in _names_of(file)] == []


def test_the_table_is_what_planning_says(scenes_dir: Path) -> None:
    assert DOCUMENT.read_text() == filled(DOCUMENT.read_text(), scenes_dir)


def test_a_table_is_put_between_its_marks(tmp_path: Path) -> None:
    write_raster(tmp_path / "a.tif")
    (tmp_path / "b.tif").write_bytes(b"no | raster")
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- begin: python -m bench.scene_table -->\nold\n<!-- end -->\nz\n")
    for _ in range(2):
        main(str(tmp_path), str(page))
        planned, refused, end = page.read_text().splitlines()[4:7]
        assert planned.startswith("| `a.tif` | 50 x 40, 3 x uint16")
        assert refused.startswith("| `b.tif` | | not a raster")
        assert end == "<!-- end -->"
        assert str(tmp_path) not in page.read_text()
    with pytest.raises(ValueError, match="no <!-- begin"):
        filled("no marks", tmp_path)
