"""Parameters: what does not fit ends as BadInput before anything starts, and reads well."""

from pathlib import Path
from typing import Any

import pytest
from prefect.client.schemas.objects import State

from flows.backfill import backfill_scenes
from flows.process import process_scene
from flows.repair import repair_scene
from flows.verify import verify_scene

JOB = "ab" * 16


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
    said = "a flow takes a job's whole ID, all 32 hex digits"
    for given in (JOB[:12], JOB + "\n"):
        assert f"job_id: {said}" in refused(verify_scene.fn(job_id=given, to="/r"))
        assert f"reuse: {said}" in refused(process_scene.fn(sources=["a"], to="/r", reuse=given))


def test_nothing_is_written(tmp_path: Path) -> None:
    given = {"scenes": {"scenes": [str(tmp_path / "a.tif")]}, "to": str(tmp_path / "root")}
    refused(backfill_scenes.fn(**given, at_once=51))
    assert list(tmp_path.iterdir()) == []
