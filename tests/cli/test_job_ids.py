"""A job is named on a command line by its ID's first digits; everything else has all of them."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from flows.cli import cli, run
from scenemosaic import job
from scenemosaic.job import JobSpec, PlanOptions, Run
from tests.flows.scenes import BLOCK, WINDOW, make_scene

DIGITS = 8
WINDOWS = 4
SIDE = 2 * WINDOW  # of the scene, in pixels of 10 m
BOUNDS = (400_000.0, 5_000_000.0 - 10 * SIDE, 400_000.0 + 10 * SIDE, 5_000_000.0)
# What each command is given beside the job, in an order in which all of them find what they need.
GIVEN = {
    "waive": ["--window", "0001_0001", "--reason", "clouds"],
    "assemble": [],
    "status": [],
    "verify": [],
    "repair": [],
    "publish": [],
    "process --reuse": ["scene.tif", "--dry-run"],
}


def takers(group: click.Group, path: str = "") -> Iterator[str]:
    """Every command with an argument or option that names a job, as it is typed."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from takers(command, f"{path}{name} ")
        for param in command.params:
            if "job" in f"{param.name} {param.metavar} {' '.join(param.opts)}".lower():
                option = [] if isinstance(param, click.Argument) else [param.opts[-1]]
                yield " ".join([f"{path}{name}", *option])


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobSpec:
    """A job without its last tile; the command line stands where its scene lies."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    scene = make_scene(tmp_path / "scene.tif", SIDE, SIDE)
    options = PlanOptions(WINDOW, BLOCK, method="first", bounds=BOUNDS)
    spec = job.plan_job([str(scene)], str(tmp_path / "root"), None, options)
    tester = Run("test", "test")
    job.prepare(spec)
    job.publish_plan(spec, tester)
    job.commit_windows(spec, range(WINDOWS - 1), tester)
    return spec


def test_first_digits_are_enough_and_all_else_has_the_whole_id(
    started: JobSpec, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sorted(GIVEN) == sorted(takers(cli)), "a command that takes a job: add it to GIVEN"
    job_id = started.plan.job_id
    for typed, more in GIVEN.items():
        assert run([*typed.split(), job_id[:DIGITS], *more, "--to", "root"]) == 0, typed
        answer = capsys.readouterr()
        assert job_id in answer.out, typed
        assert cut_short(job_id, answer.out + answer.err) == [], typed
    written = [path for path in (tmp_path / "root").rglob("*") if path.is_file()]
    assert cut_short(job_id, " ".join(map(str, written))) == []
    for path in written:
        assert cut_short(job_id, path.read_bytes().decode("latin-1")) == [], path


def cut_short(job_id: str, text: str) -> list[str]:
    """Every place in which the job's ID stands, and not all of it."""
    found = re.findall(rf"{job_id[:DIGITS]}[0-9a-f]*", text)
    return [one for one in found if len(one) < len(job_id)]


@pytest.mark.parametrize("typed", GIVEN)
def test_what_names_no_job(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "root").mkdir()
    for given, said in (
        ("abcde", "a job ID is 32 hex digits (0-9, a-f), or its first 6 and more of them"),
        ("abcdef", "holds no job that begins with abcdef: no plan is at jobs/abcdef…"),
    ):
        assert run([*typed.split(), given, *GIVEN[typed], "--to", "root"]) == 2
        assert said in capsys.readouterr().err
    assert list((tmp_path / "root").iterdir()) == []
