"""The commands that need no Prefect: plan, status, assemble, init, help."""

import json
import sys
from pathlib import Path

import pytest
import rasterio
from rasterio.transform import Affine

from flows.cli import run
from scenemosaic import job, keys
from scenemosaic.job import JobSpec, PlanOptions, Run
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.flows.serving import environment, finish, run_command
from tests.forked import forks

WINDOWS = 12
SIZES = ["--window", str(WINDOW), "--block-size", str(BLOCK)]


@pytest.fixture
def started(scene: Path, tmp_path: Path) -> JobSpec:
    """A job with all of its windows but the last."""
    spec = job.plan_job([str(scene)], str(tmp_path / "root"), None, PlanOptions(WINDOW, BLOCK))
    tester = Run("test", "test")
    job.prepare(spec)
    job.publish_plan(spec, tester)
    job.commit_windows(spec, range(WINDOWS - 1), tester)
    return spec


def test_dry_run_says_what_would_be_and_writes_nothing(scene: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    arguments = ["process", str(scene), "--to", str(root), *SIZES, "--dry-run"]
    value = run_command([*arguments, "--json"], tmp_path).value()
    assert (value["windows"], value["window_rows"], value["window_cols"]) == (WINDOWS, 3, 4)
    assert value["keys"]["mosaic"] == keys.mosaic_key(value["job_id"])
    assert value["keys"]["last_tile"] == keys.tile_key(value["job_id"], "0002_0003")
    (warning,) = value["warnings"]
    assert "nothing says when the scene was taken" in warning
    text = run_command(arguments, tmp_path)
    assert (text.code, text.err) == (0, f"WARNING scenemosaic.job: {warning}\n")
    assert value["job_id"] in text.out
    assert not root.exists()


@pytest.mark.parametrize(
    ("given", "shown", "said"),
    [
        ([], ["root", "manifest"], "to       root and manifest above are placeholders: "),
        (["--manifest", "dynamodb://own"], ["root"], "to       root above is a placeholder: "),
        (["--to", "s3://bucket/prefix"], [], None),
    ],
)
def test_a_plan_says_what_it_shows_in_place_of_a_root(
    given: list[str],
    shown: list[str],
    said: str | None,
    scene: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["plan", str(scene), *SIZES, *given]
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["placeholders"] == shown
    assert run(command) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "placeholder" in line]
    assert [line.startswith(said or "?") for line in lines] == ([True] if said else [])


def test_a_dry_run_has_its_warnings_in_its_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    south_up = tmp_path / "scene.tif"
    with rasterio.open(make_scene(tmp_path / "north.tif")) as north:
        profile, pixels = north.profile, north.read()
    profile["transform"] = Affine(10.0, 0.0, 400_000.0, 0.0, 10.0, 5_000_000.0)
    with rasterio.open(south_up, "w", **profile) as scene:
        scene.write(pixels)
    root = ["--to", str(tmp_path / "root"), "--json"]
    for given in (["process", str(south_up), *root, "--dry-run"], ["plan", str(south_up), *root]):
        assert run(given) == 0
        answer = capsys.readouterr()
        warnings = json.loads(answer.out)["warnings"]
        assert "south to north" in warnings[0]
        assert "nothing says when the scene was taken" in warnings[1]
        assert answer.err.splitlines() == [f"WARNING scenemosaic.job: {one}" for one in warnings]
        if given[0] == "process":
            assert run([*given, "--datetime", "2024-05-01"]) == 0
            assert json.loads(capsys.readouterr().out)["warnings"] == warnings[:1]


def test_status_of_a_job_that_is_not_done(started: JobSpec, tmp_path: Path) -> None:
    job_id = started.plan.job_id
    arguments = ["status", job_id, "--to", str(tmp_path / "root")]
    value = run_command([*arguments, "--json"], tmp_path).value()
    assert (value["windows"], value["rows"], value["missing"]) == (WINDOWS, 11, ["0002_0003"])
    assert (value["mosaic"], value["item"], value["finished"]) == (None, None, False)
    text = run_command(arguments, tmp_path)
    assert (text.code, text.err) == (0, "")
    assert "11 of 12" in text.out
    assert "0002_0003" in text.out
    last = text.out.splitlines()[-1]
    assert last == "not finished: run scenemosaic process SOURCE again for 1 window"


def test_assemble_refuses_gaps_and_then_does_it(started: JobSpec, tmp_path: Path) -> None:
    job_id = started.plan.job_id
    arguments = ["assemble", job_id, "--to", str(tmp_path / "root"), "--json"]
    refused = run_command(arguments, tmp_path)
    assert refused.code == 3
    assert refused.value()["missing"] == ["0002_0003"]
    assert "0002_0003" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert f"run scenemosaic process SOURCE again, or scenemosaic repair {job_id}" in refused.err
    assert "same command" not in refused.err
    mosaic = tmp_path / "root" / keys.mosaic_key(job_id)
    assert not mosaic.exists()

    job.commit_windows(started, [WINDOWS - 1], Run("test", "test"))
    done = run_command(arguments, tmp_path)
    assert (done.code, done.value()["mosaic"]["outcome"]) == (0, "written")
    assert (done.value()["written"], done.value()["already_present"]) == (0, WINDOWS)
    assert mosaic.is_file()
    again = run_command(arguments, tmp_path)
    assert (again.code, again.value()["mosaic"]["outcome"]) == (0, "already-present")
    status = run_command(["status", *arguments[1:]], tmp_path).value()
    assert status["finished"] is True
    assert status["mosaic"] == mosaic.as_uri()


def test_status_says_what_comes_next(
    started: JobSpec, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job_id, root = started.plan.job_id, tmp_path / "root"
    job.commit_windows(started, [WINDOWS - 1], Run("test", "test"))

    def last_line() -> str:
        assert run(["status", job_id, "--to", str(root)]) == 0
        return capsys.readouterr().out.splitlines()[-1]

    then = f"{job_id} --to {root.as_uri()}"
    assert last_line() == f"not finished: every window has a row; run scenemosaic assemble {then}"
    job.assemble(started, Run("test", "test"))
    assert last_line() == "finished"
    (root / keys.preview_key(job_id)).unlink()
    assert last_line() == f"not finished: gone since it was: preview; run scenemosaic repair {then}"


def test_init_of_a_local_root(tmp_path: Path) -> None:
    arguments = ["init", str(tmp_path / "root"), "--json"]
    first = run_command(arguments, tmp_path).value()
    assert (first["made"], first["lifecycle"]) == (True, None)
    assert run_command(arguments, tmp_path).value() == {**first, "made": False}
    assert (tmp_path / "root" / "manifest.db").is_file()


def test_init_of_a_bucket_prints_its_lifecycle_rule(
    tmp_path: Path, ministack: str, table_name: str
) -> None:
    arguments = ["init", "s3://bucket/some/prefix", "--manifest", f"dynamodb://{table_name}"]
    env = {"AWS_ENDPOINT_URL_DYNAMODB": ministack}
    value = run_command([*arguments, "--json"], tmp_path, env).value()
    assert value["made"] is True
    uploads, stages = value["lifecycle"]["Rules"]
    assert uploads["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}
    assert uploads["Filter"] == {"Prefix": "some/prefix/"}
    assert stages["Expiration"] == {"Days": 7}
    assert stages["Filter"] == {"Prefix": "some/prefix/stages/"}
    text = run_command(arguments, tmp_path, env).out
    assert json.loads(text[text.index("{") :]) == value["lifecycle"]


HEAVY = ("prefect", "rasterio", "numpy", "boto3", "sqlalchemy")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["process", "--help"], ["demo", "-h"], ["process"]]
)
def test_help_is_quick(arguments: list[str], tmp_path: Path) -> None:
    assert loaded(arguments, tmp_path, HEAVY) == []


def test_bad_input_and_status_do_without_prefect(started: JobSpec, tmp_path: Path) -> None:
    root = str(tmp_path / "root")
    for arguments in (
        ["process", "absent.tif", "--to", root],
        ["process", str(tmp_path / "scene.tif"), "--to", root, "--dry-run"],
        ["status", started.plan.job_id, "--to", root],
        ["assemble", started.plan.job_id, "--to", root],
        ["init", root],
    ):
        assert not imports_prefect(arguments, tmp_path)


def imports_prefect(arguments: list[str], folder: Path) -> bool:
    """Whether a command did; forks begin without it."""
    answer = finish(forks().start("tests.cli.loading", arguments, folder, environment()))
    assert answer.code == 0, answer.err
    return {"True": True, "False": False}[answer.out.splitlines()[-1]]


def loaded(arguments: list[str], folder: Path, modules: tuple[str, ...]) -> list[str]:
    """Which of ``modules`` a command imported."""
    import subprocess

    code = (
        "import sys, json; from flows import cli\n"
        f"cli.run({arguments!r})\n"
        f"print('\\n' + json.dumps([name for name in {modules!r} if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found
