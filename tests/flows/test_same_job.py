"""What was planned in the shell is the same job from a form."""

import json
from pathlib import Path
from typing import Any

import pytest
from prefect.utilities.schema_tools.validation import validate

from flows.cli import run
from flows.forms.places import planned
from flows.forms.recipe_parameters import options_of
from flows.process import process_scene
from flows.server.form_schema import schema_of
from scenemosaic.places import place_at


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("2026-05-01", "2026-05-01T12:00:00Z"),
        ("2026-05-01T10:20:30Z", "2026-05-01T10:20:30Z"),
        ("2026-05-01 12:20+02:00", "2026-05-01T10:20:00Z"),
    ],
)
def test_form_and_shell(
    typed: str, meant: str, scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = str(tmp_path / "root")
    given: dict[str, Any] = {"sources": [str(scene)], "to": root, "taken": typed}
    validate(given, schema_of(process_scene).model_dump(exclude_unset=True), raise_on_error=True)
    plan = planned(given["sources"], place_at(root), options_of(None, None, typed)).plan
    assert plan.datetime == meant
    assert (
        run(["process", str(scene), "--to", root, "--datetime", typed, "--dry-run", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["job_id"] == plan.job_id
