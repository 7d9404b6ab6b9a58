"""``--block NAME``: a Scene Store block says where everything goes."""

import json
from pathlib import Path

import pytest

from blocks import SceneStore, TileManifest
from flows.cli import run
from scenemosaic import keys
from tests import servers
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
    capsys.readouterr()
    assert run(["plan", str(scene), "--block", "by-name", *sizes, "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert (planned["job_id"], planned["placeholders"]) == (job_id, [])
    assert planned["root"] == f"file://{root}"
    assert run(["policy", "--block", "by-name", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["root"], said["manifest"]) == (f"file://{root}", f"sqlite:///{root}/manifest.db")


@pytest.mark.usefixtures("harness")
def test_gc_reaches_a_root_as_its_block_says(
    ministack: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # By the environment neither the root nor its default manifest can be reached.
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    bucket, client = servers.make_bucket(ministack), servers.aws_client("s3", ministack)
    rows = TileManifest(url=f"sqlite:///{tmp_path}/rows.db")
    rows.save("gc-rows", overwrite=True)
    store = SceneStore(root=f"s3://{bucket}/p", endpoint=ministack, manifest=rows)
    store.save("gc-by-name", overwrite=True)
    client.create_multipart_upload(Bucket=bucket, Key=f"p/{keys.mosaic_key('ab' * 16)}")
    assert run(["gc", "--block", "gc-by-name", "--older-than", "0s", "--abort", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["outcome"] for one in said["uploads"]] == ["ended"]
    assert not client.list_multipart_uploads(Bucket=bucket).get("Uploads")


@pytest.mark.parametrize("command", ["gc", "policy", "plan"])
def test_a_root_and_a_block_are_one_too_many(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = ["a.tif", "--to", "root"] if command == "plan" else ["root"]
    assert run([command, *root, "--block", "by-name"]) == 2
    assert "give a root or --block NAME, and not both" in capsys.readouterr().err


@pytest.mark.usefixtures("harness")
def test_a_block_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status", "ab" * 16, "--block", "nobody"]) == 2
    err = capsys.readouterr().err
    assert "scene-store/nobody" in err
    assert "save one by `from blocks import SceneStore; SceneStore(…).save('nobody')`" in err
