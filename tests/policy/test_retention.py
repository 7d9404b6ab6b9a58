"""What docs/operations.md says of expired tiles and of a lost manifest, tried."""

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.cli import run
from scenemosaic import keys
from tests.jobs import run_job
from tests.jobs.conftest import scene

__all__ = ["scene"]
WINDOW = 512
Said = Callable[..., tuple[int, Any]]
Process = Callable[[str], dict[str, Any]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def process(scene: Path, root: Path) -> Process:
    """What ``process`` does with a job, without Prefect."""
    return lambda run_id: run_job.run(str(scene), str(root), None, WINDOW, run_id)


@pytest.fixture
def said(root: Path, capfd: pytest.CaptureFixture[str]) -> Said:
    def call(verb: str, *arguments: str) -> tuple[int, Any]:
        place = [str(root)] if verb == "init" else [*arguments, "--to", str(root)]
        capfd.readouterr()
        code = run([verb, *place, "--json"])
        return code, json.loads(capfd.readouterr().out)

    return call


def test_once_a_mosaic_stands_its_tiles_may_go(process: Process, said: Said, root: Path) -> None:
    first = process("first")
    assert first["outcome"] == "written"
    shutil.rmtree(root / "tiles")

    again, job_id = process("again"), first["job_id"]
    assert (again["outcome"], again["written"]) == ("already-present", 0)
    code, value = said("assemble", job_id)
    assert (code, value["mosaic"]["outcome"]) == (0, "already-present")
    code, value = said("status", job_id)
    assert (code, value["finished"]) == (0, True)
    assert said("publish", job_id)[0] == 0
    code, value = said("verify", job_id)
    assert code == 3
    found = [one["kind"] for one in value["findings"]]
    assert found == ["missing-object"] * first["windows"]


def test_without_its_manifest_a_job_is_recorded_again(
    process: Process, said: Said, root: Path
) -> None:
    first = process("first")
    before = stamps(root)
    for file in root.glob("manifest.db*"):
        file.unlink()
    assert said("init")[0] == 0

    again = process("again")
    assert (again["outcome"], again["written"]) == ("already-present", 0)
    assert stamps(root) == before
    code, value = said("verify", first["job_id"])
    assert (code, value["findings"]) == (0, [])


def test_a_lost_plan_is_put_back_by_a_copy_or_where_the_job_is_not_finished(
    process: Process, said: Said, root: Path
) -> None:
    job_id = process("first")["job_id"]
    plan, item = root / keys.plan_key(job_id), root / keys.item_key(job_id)
    data = plan.read_bytes()
    plan.unlink()
    assert process("again")["outcome"] == "already-present"
    assert not plan.exists()
    code, value = said("verify", job_id)
    assert (code, [one["kind"] for one in value["findings"]]) == (3, ["plan"])
    assert said("repair", job_id)[0] == 2

    plan.write_bytes(data)
    assert said("verify", job_id)[0] == 0

    plan.unlink()
    item.unlink()
    assert process("third")["written"] == 0
    assert plan.read_bytes() == data
    assert said("verify", job_id)[0] == 0


def test_the_printed_folders_show_mosaics_alone_to_others(
    process: Process, root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["policy", str(root), "--json"]) == 0
    commands = json.loads(capfd.readouterr().out)["commands"]
    for line in commands[:3]:  # the user and the group are not there on every machine
        subprocess.run(line.replace("-o scenemosaic -g scenemosaic ", ""), shell=True, check=True)
    assert commands[3].startswith("umask 0002 ")
    before = os.umask(0o002)
    try:
        job_id = process("first")["job_id"]
    finally:
        os.umask(before)
    shown = {path.relative_to(root).parts[0] for path in root.rglob("*.*") if open_to_others(path)}
    assert "mosaics" in shown
    assert not shown & {"tiles", "jobs", "ledger", "audit", "preflight", ".scenemosaic"}
    assert open_to_others(root / keys.mosaic_key(job_id))
    tiles = root / keys.tile_key(job_id, "0000_0000")
    assert tiles.parent.stat().st_mode & stat.S_ISGID
    assert tiles.parent.stat().st_mode & stat.S_IWGRP


def open_to_others(path: Path) -> bool:
    """Whether any user may read a file: every folder above it lets them through."""
    above = path.parents[: path.parts[::-1].index("root")]
    return (
        path.is_file()
        and bool(path.stat().st_mode & stat.S_IROTH)
        and all(one.stat().st_mode & stat.S_IXOTH for one in above)
    )


def stamps(root: Path) -> dict[Path, tuple[int, int]]:
    """Every output's inode and time: the same file, never written again."""
    outputs = [path for name in ("tiles", "mosaics", "jobs") for path in (root / name).rglob("*.*")]
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in outputs}
