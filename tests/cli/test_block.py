"""``--block NAME``: a Scene Store block says where everything goes."""

from pathlib import Path

import pytest

from blocks import SceneStore
from flows.cli import run
from tests.flows.scenes import BLOCK, WINDOW, make_scene


@pytest.mark.usefixtures("harness")
def test_a_whole_job_by_a_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "root"
    SceneStore(root=str(root)).save("by-name", overwrite=True)
    scene = make_scene(tmp_path / "scene.tif")
    sizes = ("--window", str(WINDOW), "--block-size", str(BLOCK))
    assert run(["process", str(scene), "--block", "by-name", *sizes]) == 0
    job_id = next((root / "jobs").iterdir()).name
    for command in ("status", "verify", "publish"):
        assert run([command, job_id, "--block", "by-name"]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert run(["jobs", "--block", "by-name"]) == 0
    assert capsys.readouterr().out.startswith(f"{job_id}  ")
    assert run(["ledger", "show", "publish", "--block", "by-name"]) == 0
    assert (root / "mosaics" / "latest.json").is_file()


@pytest.mark.usefixtures("harness")
def test_a_block_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "ab" * 16, "--block", "nobody"]) == 2
    err = capsys.readouterr().err
    assert "scene-store/nobody" in err
    assert "save one by `from blocks import SceneStore; SceneStore(…).save('nobody')`" in err
