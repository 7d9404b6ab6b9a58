"""What the plan of several sources says of grids and bands is checked as it is read."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.canonical import encode
from scenemosaic.compositing.described import merged_template
from scenemosaic.compositing.placing import placements
from scenemosaic.errors import InputError
from scenemosaic.grids.crs_text import wkt_of
from scenemosaic.grids.grid import Grid
from scenemosaic.planning.survey import plan_scene
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import Plan, PlanOptions, job_id_of, load_plan
from scenemosaic.recipes.merge import Merge, Shared
from scenemosaic.recipes.recipe import Recipe
from tests.compositing.scenes import make, waves

GRID = Grid(wkt_of("EPSG:4326"), (0.25, 0.0, 10.0, 0.0, -0.25, 50.0), 128, 64)
SHARED = Shared(
    scales=(2.0, 3.0),
    colorinterp=("palette", "undefined"),
    colormaps=(((0, (1, 2, 3, 255)),), None),
)
RECIPE = Recipe(GRID, "uint8", 2, 0, False, 64, block_size=64, merge=Merge(SHARED))
PIN = Pin(None, "a" * 64, None, None, 1234)
PLAN = Plan((PIN, replace(PIN, sha256="b" * 64)), RECIPE, grids=(GRID, GRID))
TERMS = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6),
)


def read(value: object) -> Plan:
    data = encode(value)
    return load_plan(data, job_id_of(data))


def changed(path: Sequence[Any], to: object) -> object:
    value = json.loads(PLAN.canonical)
    inner = value
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return value


def test_what_is_changed_below_is_a_plan() -> None:
    assert read(json.loads(PLAN.canonical)) == PLAN
    assert len(placements(GRID, GRID)) == 1


@pytest.mark.parametrize("grid", [("recipe", "grid"), ("grids", 0), ("grids", 1)])
@pytest.mark.parametrize(
    ("words", "transform"),
    [
        # Each turn is another place of each source: some 10 millions of them.
        ("go once round", [3e7, 0.0, 10.0, 0.0, -0.25, 50.0]),
        ("go once round", [0.0, 0.25, 10.0, -3e7, 0.0, 50.0]),
        ("no place", [0.25, 0.0, 1e300, 0.0, -0.25, 50.0]),
        ("no place", [1e200, 0.0, 10.0, 0.0, 1e200, 50.0]),
        ("no place", [1e-300, 0.0, 10.0, 0.0, 0.25, 50.0]),
        ("no area", [0.25, 0.25, 10.0, 0.25, math.nextafter(0.25, 1.0), 50.0]),
    ],
)
def test_a_grid_where_nothing_can_be_found_is_refused(
    grid: Sequence[Any], words: str, transform: list[float]
) -> None:
    name = rf"{grid[0]}.{grid[1]}" if grid[1] == "grid" else rf"plan\.grids\[{grid[1]}\]"
    with pytest.raises(InputError, match=rf"{name} .*{words}"):
        read(changed([*grid, "transform"], transform))


@given(st.tuples(*[TERMS] * 6), st.sampled_from(["EPSG:4326", "EPSG:32631"]))
def test_a_grid_that_is_read_can_be_worked_with(terms: tuple[float, ...], crs: str) -> None:
    value = json.loads(PLAN.canonical)
    for grid in (value["recipe"]["grid"], *value["grids"]):
        grid["crs"] = crs
    value["grids"][0]["transform"] = list(terms)
    try:
        plan = read(value)
    except InputError:
        return
    assert len(placements(plan.recipe.grid, plan.grids[0])) < 20
    assert len(placements(plan.grids[0], plan.recipe.grid)) < 20


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("band_tags", [[]] * 3),
        ("descriptions", ["x"]),
        ("units", ["m"]),
        ("scales", [1.5]),
        ("offsets", [1.5, 2.5, 3.5]),
        ("colorinterp", ["gray"]),
        ("colorinterp", []),
        ("colorinterp", ["gray", "colour"]),
        ("colormaps", [None]),
        ("colormaps", [None, [[0, [1, 2, 3, 4]]]]),
        ("colormaps", [[[1 << 40, [1, 2, 3, 4]]], None]),
        ("colormaps", [[[0, [1, 2, 3, 1 << 40]]], None]),
    ],
)
def test_what_bands_cannot_hold_is_refused(field: str, value: object) -> None:
    assert merged_template(RECIPE)
    with pytest.raises(InputError, match=rf"recipe\.merge\.shared\.{field}"):
        read(changed(["recipe", "merge", "shared", field], value))


def test_planning_says_which_source_lies_nowhere(tmp_path: Path) -> None:
    given = [
        make(tmp_path / f"{n}.tif", waves(16, 16).astype("uint8"), (0, 0), **more)
        for n, more in enumerate(({}, {"crs": "EPSG:4326", "size": 1000.0}))
    ]
    with pytest.raises(InputError, match=r"1\.tif.*its grid .* go once round"):
        plan_scene(given, PlanOptions(window=16, block_size=16))
