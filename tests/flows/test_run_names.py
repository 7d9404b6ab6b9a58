"""Run names say the scene and where it goes, and never a signature."""

from typing import Any

import pytest

from flows.forms import run_names
from flows.forms.scene_selection import SceneSelection


@pytest.mark.parametrize(
    ("sources", "to", "store", "name"),
    [
        (["/data/a.tif"], "/data/out/", None, "a.tif → data/out"),
        (["s3://b/x/a%20b.tif", "s3://b/y.tif"], None, "prod", "a b.tif and 1 more → prod"),
        (["https://h/x/a.tif?sig=secret"], "s3://b/p/q", None, "a.tif → p/q"),
        (["/data/a.tif"], "s3://bucket", None, "a.tif → bucket"),
        (["ftp://h/a.tif"], None, "prod", "scene → prod"),
    ],
)
def test_a_scenes_run(sources: list[str], to: str | None, store: str | None, name: str) -> None:
    assert run_names.process_name(sources, to, store) == name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"scenes": {"scenes": ["/a.tif", "/b.tif"]}, "to": "/d/out"}, "a.tif and 1 more → d/out"),
        ({"scenes": SceneSelection(prefix="s3://b/new/"), "store": "p"}, "s3://b/new/ → p"),
        ({"scenes": {"stac": "https://h/v1?key=secret"}, "store": "p"}, "https://h/v1 → p"),
        ({"scenes": 7, "store": "p"}, "scenes → p"),
        ({}, "scenes → "),
    ],
)
def test_a_backfill(given: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_names, "_parameters", lambda: given)
    assert run_names.backfill_run() == name
