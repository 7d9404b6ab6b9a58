"""Commands that start a cluster of their own: what they answer, and that nothing of it is left."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import rasterio

from blocks.mosaic_recipe import RecipeFields
from scenemosaic import job, keys
from tests.engines.marked import MARK, marked
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.flows.serving import environment, finish, start_command
from tests.recovery.gate import until

WITH_RAY = pytest.mark.skipif(sys.version_info >= (3, 14), reason="Ray has no wheels for it")
pytestmark = pytest.mark.slow


def killed_one(folder: Path) -> bool:
    """Whether a process of Ray's was at a batch of windows, and is killed now."""
    for pid in marked(folder):
        with suppress(OSError):
            if b"ray::commit-windows" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
                return True
    return False


@WITH_RAY
def test_a_backfill_on_ray_outlives_a_worker_and_leaves_nothing(tmp_path: Path, api: str) -> None:
    root = tmp_path / "root"
    scenes = [make_scene(tmp_path / f"{seed}.tif", seed=seed) for seed in (1, 2)]
    given = ["backfill", *map(str, scenes), "--to", str(root), "--json", "--engine", "ray"]
    sizes = ["--window", str(WINDOW), "--block-size", str(BLOCK)]
    mark = {"PREFECT_API_URL": api, MARK: str(tmp_path)}
    process = start_command([*given, *sizes], tmp_path, mark)
    until("a batch", lambda: killed_one(tmp_path) or process.poll() is not None, passes=True)
    answer = finish(process)
    assert answer.code == 0, answer.err
    options = RecipeFields(window=WINDOW, block_size=BLOCK).options()
    rows = answer.value()["rows"]
    assert len(rows) == len(scenes)
    for scene, row in zip(scenes, rows, strict=True):
        spec = job.plan_job([str(scene)], str(root), None, options)
        assert (row["state"], row["job_id"]) == ("Mosaicked", spec.plan.job_id)
        mosaic = root / keys.mosaic_key(spec.plan.job_id)
        with rasterio.open(scene) as source, rasterio.open(mosaic) as made:
            assert (source.read() == made.read()).all()
    until("no process left", lambda: not marked(tmp_path), give_up_s=60)


@pytest.mark.parametrize(
    ("engine", "send", "number"),
    [
        ("dask", os.killpg, signal.SIGINT),
        pytest.param("ray", os.kill, signal.SIGTERM, marks=WITH_RAY),
    ],
)
def test_a_command_that_is_ended_leaves_no_worker(
    tmp_path: Path,
    api: str,
    engine: str,
    send: Callable[[int, int], None],
    number: signal.Signals,
) -> None:
    scene = make_scene(tmp_path / "scene.tif", 2000, 2000)
    root = tmp_path / "root"
    given = ["process", str(scene), "--to", str(root), "--engine", engine]
    sizes = ["--window", str(BLOCK), "--block-size", str(BLOCK)]
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.cli", *given, *sizes],
        env=environment({"PREFECT_API_URL": api, MARK: str(tmp_path)}),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until("a tile", lambda: any(root.glob("tiles/*/*.tif")), passes=True)
        assert len(marked(tmp_path)) > 2
        send(process.pid, number)
        _, err = process.communicate(timeout=200)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 128 + number, err
    until("no process left", lambda: not marked(tmp_path), give_up_s=60)
    assert "interrupted; the same command goes on from there" in err
    assert "***" not in err, err  # a stack of Ray's
