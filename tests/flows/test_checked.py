"""Parameters: what does not fit ends as BadInput before anything starts, and reads well."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from prefect.client.schemas.objects import State

from flows.backfill import backfill_scenes
from flows.forms.fitting import check_given, kinds_of
from flows.forms.scene_parameters import ANNOTATIONS
from flows.process import process_scene
from flows.publish import publish
from flows.repair import repair_scene
from flows.verify import verify_scene
from scenemosaic.errors import InputError

JOB = "ab" * 16
WHOLE = "a flow takes a job's whole ID, all 32 hex digits"
FITTING: dict[Any, dict[str, Any]] = {
    process_scene: {"sources": ["/a.tif"], "to": "/r", "workers": 256},
    publish: {"job_id": JOB, "to": "/r", "ledger": "daily", "slots": 100},
}


def refused(state: "State[Any]") -> str:
    assert (state.name, state.is_failed()) == ("BadInput", True)
    return str(state.message)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "sources"),
        ({"sources": []}, "sources: List should have at least 1 item"),
        ({"sources": ["a.tif"]}, "nothing says where outputs go: give to (a root), or store"),
        ({"sources": ["a.tif"], "to": "/r", "store": "s"}, "give to (a root) or store"),
        ({"sources": ["a.tif"], "to": "r"}, "to: a flow takes a whole path or a URI"),
        ({"sources": ["a.tif"], "to": "/r", "workers": 0}, "workers: Input should be greater"),
        ({"sources": ["a.tif"], "to": "/r", "recipe": {"compress": "rar"}}, "recipe.compress"),
        (
            {"sources": ["a.tif"], "to": "/r", "recipe": {"compress": "lzw", "level": 3}},
            "recipe: lzw has no level: level 3 does not fit",
        ),
        ({"sources": ["a.tif"], "to": "/r", "recipe": {}, "recipe_block": "b"}, "and not both"),
        (
            {"sources": ["a.tif"], "to": "/r", "taken": "yesterday"},
            "taken: not a date or time such as",
        ),
        (
            {"sources": ["a.tif"], "to": "/r", "recipe": {"level": 6, "effort": "small"}},
            "recipe: give a level or an effort, not both",
        ),
        ({"sources": ["a.tif"], "to": "/r", "colour": "red"}, "colour"),
    ],
)
def test_process_scene(given: dict[str, Any], said: str) -> None:
    assert said in refused(process_scene.fn(**given))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give exactly one of scenes, prefix and stac, not none of them"),
        ({"scenes": ["a"], "prefix": "b"}, "not scenes and prefix"),
        (
            {"prefix": "b", "since": "2024-05-02", "until": "2024-05-01"},
            "until (2024-05-01) is before since (2024-05-02)",
        ),
        ({"scenes": ["a"], "since": "2024-05-02"}, "do not apply to listed scenes"),
        ({"scenes": ["a"], "at_most": 0}, "scenes.at_most: Input should be greater"),
    ],
)
def test_a_selection_of_scenes(given: dict[str, Any], said: str) -> None:
    assert said in refused(backfill_scenes.fn(scenes=given, to="/r"))


def test_every_fault_is_named_at_once() -> None:
    text = refused(backfill_scenes.fn(scenes={"scenes": ["a"]}, to="/r", at_once=70, mode="new"))
    assert "at_once: " in text
    assert "mode: Input should be 'missing' or 'again'" in text


def test_a_password_is_refused_and_not_repeated() -> None:
    manifest = "postgresql+psycopg://me:hunter2@db/x"
    for flow in (verify_scene, repair_scene):
        text = refused(flow.fn(job_id=JOB, to="/r", manifest=manifest))
        assert "Secret block" in text
        assert "hunter2" not in text


def test_what_was_given_is_not_repeated() -> None:
    text = refused(process_scene.fn(sources=["a.tif"], to="/r", workers="hunter2"))
    assert text.startswith("workers: ")
    assert "hunter2" not in text


def test_a_job_is_named_by_its_whole_id() -> None:
    for given in (JOB[:12], JOB + "\n"):
        assert f"job_id: {WHOLE}" in refused(verify_scene.fn(job_id=given, to="/r"))
        assert f"reuse: {WHOLE}" in refused(process_scene.fn(sources=["a"], to="/r", reuse=given))


@pytest.mark.parametrize(
    ("flow", "given", "said"),
    [
        (process_scene, {"workers": 257}, "--workers: Input should be less than or equal to 256"),
        (process_scene, {"engine_address": "t" * 201}, "--engine-address: String should have"),
        (process_scene, {"sources": ["/a", "/" + "a" * 2000]}, "SOURCE: String should have"),
        (process_scene, {"to": "s3://me:pw@bucket"}, "--to: leave user, password and query out"),
        (publish, {"job_id": JOB[:6]}, f"JOB: {WHOLE}"),
        (publish, {"ledger": "../x", "slots": 0}, "--ledger: a ledger's name is 1 to 64 of"),
        (publish, {"ledger": "../x", "slots": 0}, "; --slots: Input should be greater"),
    ],
)
def test_a_command_says_it_in_its_own_words(flow: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        check_given(kinds_of(flow.fn), given)
    assert said.partition(": ")[2] in refused(flow.fn(**FITTING[flow] | given))


def test_what_fits_is_let_through() -> None:
    for flow, given in FITTING.items():
        check_given(kinds_of(flow.fn), given)


def test_a_planned_scene_is_checked_by_the_flow_s_own_kinds() -> None:
    parameters = inspect.signature(process_scene.fn).parameters
    own = {name: parameters[name].annotation for name in ANNOTATIONS}
    assert own == ANNOTATIONS


def test_nothing_is_written(tmp_path: Path) -> None:
    given = {"scenes": {"scenes": [str(tmp_path / "a.tif")]}, "to": str(tmp_path / "root")}
    refused(backfill_scenes.fn(**given, at_once=51))
    assert list(tmp_path.iterdir()) == []
