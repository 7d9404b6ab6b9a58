"""Band maths as it is asked for: on the command line, in a form, in Prefect's records."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from blocks.mosaic_recipe import RecipeFields
from flows.cli import run
from flows.forms.recipe_parameters import fields_of
from scenemosaic.bandmath.parser import ALLOWED
from scenemosaic.plans.plan import PlanOptions
from tests.plan.rasters import write_raster

ASKED = PlanOptions(expression="b2 / b1", unscale=True, dtype="float64", nodata=-1.0)


def test_a_form_asks_for_the_same() -> None:
    fields = RecipeFields(expression="b2 / b1", unscale=True, dtype="float64", nodata=-1)
    assert fields.options() == ASKED
    assert RecipeFields(bands=[3, 1]).options() == PlanOptions(bands=(3, 1))


@pytest.mark.parametrize("options", [ASKED, PlanOptions(bands=(3, 1)), PlanOptions()])
def test_what_was_asked_is_recorded(options: PlanOptions) -> None:
    fields = fields_of(options)
    assert fields is not None
    assert RecipeFields(**json.loads(fields.model_dump_json())).options() == options


def test_a_form_refuses_a_bad_expression_before_anything_starts() -> None:
    with pytest.raises(ValidationError, match="character 6: 'red' is no band"):
        RecipeFields(expression="b1 - red")
    with pytest.raises(ValidationError, match="give bands or an expression"):
        RecipeFields(expression="b1", bands=[1])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--expression", "b1 - red"], f"--expression, character 6: 'red' is no band; {ALLOWED}"),
        (["--expression", "b1 / b9"], "s.tif: --expression names b9, and it has 3 bands, b1..b3"),
        (["--bands", "3,x"], "'--bands': '3,x' is no list of bands from 1, such as 4,3,2"),
        (["--dtype", "int4"], "--dtype must be one of int8, uint8"),
        (["--nodata", "-1"], "s.tif: --nodata -1 is not a value of uint16"),
        (["--unscale"], "s.tif: it says no scale and no offset: leave out --unscale"),
    ],
)
def test_the_command_line_refuses_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, root = write_raster(tmp_path / "s.tif"), tmp_path / "root"
    assert run(["process", source, "--to", str(root), *arguments]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1
    assert not root.exists()


def test_a_dry_run_shows_the_bands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, root = write_raster(tmp_path / "s.tif"), tmp_path / "root"
    asked = ["--expression", "(b2-b1)/(b2+b1); b3", "--datetime", "2024-05-01"]
    assert run(["process", source, "--to", str(root), *asked, "--dry-run"]) == 0
    assert "bands    (b2 - b1) / (b2 + b1), b3; nodata nan\n" in capsys.readouterr().out
