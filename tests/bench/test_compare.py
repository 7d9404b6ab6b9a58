"""The comparison with other tools: a cell that fails says why, and ratios are within a round."""

import sys
from pathlib import Path

import pytest

from bench import compare, compare_table, results
from bench.committed import Committed
from bench.compare_cells import ASSEMBLY, FROM_TILES, GDAL, ODC, Bench, Row, Scene
from bench.compare_places import Local
from bench.measure import Cost


def row(name: str, cpu_s: float, **told: object) -> Row:
    return Row("8192² x 3 uint16", "local", FROM_TILES, name, Cost(cpu_s, 2.0, 10**8, told=told))


def test_the_table_has_a_ratio_within_each_round_and_the_promises() -> None:
    rows = [
        row(ASSEMBLY, 1.0, stages={"import": {"cpu_s": 0.5}}),
        row(GDAL, 10.0, imports_s=0.0),
        row(ODC, 4.0),
        row(ASSEMBLY, 3.0, stages={"import": {"cpu_s": 0.5}}),
        row(GDAL, 20.0, imports_s=0.0),
        row(ODC, 30.0),
    ]
    lines = list(compare_table.lines(rows))
    assert any(ASSEMBLY in line and "| 2.00 |" in line and "| 0.125 |" in line for line in lines)
    promises = [line for line in lines if f"to {GDAL}" in line]
    assert promises[0].endswith("| 0.125 | 0.100 | **no** |")
    assert promises[1].endswith("| 0.087 | 0.100 | yes |")


def test_a_cell_that_fails_says_why(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "scene.tif", 64, "float32x1", 64)
    assert (scene.predictor, scene.name) == (3, "64² x 1 float32")
    committed = Committed(tmp_path, "job", tmp_path, frozenset())
    place = Local(tmp_path, {})
    bench = Bench(scene, place, "", "/bin/false", committed, tmp_path / "mosaic.tif")
    command = [sys.executable, "-c", "raise SystemExit('no | such tool')"]
    failed = bench._cell(FROM_TILES, GDAL, command, place.out)
    assert failed.cost is None
    (line,) = (one for one in compare_table.lines([failed]) if GDAL in one)
    assert "failed: no / such tool" in line


def test_options_are_lists() -> None:
    options = compare.options_of(["--sizes", "8192"])
    assert (options.sizes, options.where) == ([8192], ["local", "s3"])
    with pytest.raises(SystemExit):
        compare.options_of(["--kinds", "int64x9"])


def test_a_part_of_the_results_is_replaced_and_no_other() -> None:
    text = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
    assert results.replaced(text, "x", ["new"]) == (
        "a\n<!-- begin x -->\n\nnew\n\n<!-- end x -->\nb\n"
    )
    with pytest.raises(ValueError, match="no part y"):
        results.replaced(text, "y", [])


@pytest.mark.parametrize("part", ["compare", "scale", "simulate", "orchestration"])
def test_the_results_have_the_parts_that_commands_write(part: str) -> None:
    text = results.RESULTS.read_text("utf-8")
    assert results.replaced(text, part, ["x"]) != text
