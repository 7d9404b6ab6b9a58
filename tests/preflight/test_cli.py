"""``scenemosaic preflight`` as people run it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.cli import cli, run
from flows.verbs.preflight import as_text
from scenemosaic import keys
from scenemosaic.preflight.full import DEADLINE_S, ROUNDS
from scenemosaic.preflight.report import Cleanup, Made, Report
from tests import servers
from tests.jobs.conftest import write_scene
from tests.preflight import services

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["preflight", *arguments, "--rounds", "3"])
        return code, *capfd.readouterr()

    return call


def test_a_table_for_people(command: Run, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    code, out, err = command(str(tmp_path / "root"))
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == f"store     {tmp_path / 'root'}"
    cells = [re.split("  +", line.strip()) for line in lines]
    assert ["racing creates", "enforced", "3 races, one winner each"] in cells
    assert ["racing inserts, long condition", "not offered"] in [row[:2] for row in cells]
    assert any(line.startswith("manifest  sqlite:///") for line in lines)
    assert "ConditionalWritePreconditionFailed" in lines[-1]
    assert max(map(len, lines)) <= 200
    assert "100% manifest: racing compare-and-swap" in err


def test_one_json_object(command: Run, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    code, out, _ = command(str(tmp_path / "root"), "--json")
    value = json.loads(out)
    assert code == 0
    assert value["enforced"] is True
    assert value["root"] == (tmp_path / "root").as_uri()
    assert {check["subject"] for check in value["checks"]} == {"store", "manifest"}
    assert value["counters"]["ConditionalWritePreconditionFailed"] > 0
    assert value["made"]
    assert value["left"] == []
    assert "error" not in value


def test_a_local_root_that_is_not_there_is_not_made(command: Run, tmp_path: Path) -> None:
    code, out, err = command(str(tmp_path / "typo"))
    assert (code, out) == (2, "")
    assert f"there is no folder {tmp_path / 'typo'}" in err
    assert not (tmp_path / "typo").exists()


@pytest.fixture
def rclone_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with servers.running(services.start_rclone(tmp_path / "rclone")) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        yield f"s3://{services.BUCKET}/root", f"sqlite:///{tmp_path}/rows.db"


def test_a_refusal_says_what_is_not_enforced(command: Run, rclone_root: tuple[str, str]) -> None:
    root, manifest = rclone_root
    code, out, err = command(root, "--manifest", manifest)
    assert code == 5
    assert "not enforced         a second create was accepted" in out
    last = err.splitlines()[-1]
    assert last.startswith(f"scenemosaic: {root} does not enforce: create where absent")
    assert "choose another store" in last
    code, out, _ = command(root, "--manifest", manifest, "--json")
    value = json.loads(out)
    assert (code, value["exit_code"], value["enforced"]) == (5, 5, False)
    assert value["error"]["kind"] == "preconditions-ignored"


@pytest.mark.parametrize("arguments", [("gs://bucket",), ("ftp://x",), ("root", "--deadline", "0")])
def test_bad_usage_is_exit_2(command: Run, arguments: tuple[str, ...]) -> None:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("scenemosaic: ")


def test_what_is_left_is_named() -> None:
    left = tuple(Made(f"s3://bucket/preflight/x/{number}", f"v{number}") for number in range(7))
    text = as_text(Report("s3://bucket", "m", (), Cleanup(left, left, "AccessDenied"), 1.0), "m")
    assert "left behind: 7 probes, because AccessDenied" in text
    assert "s3://bucket/preflight/x/4 version v4" in text
    assert "and 2 more" in text


def test_the_engines_defaults_are_shown() -> None:
    defaults = {option.name: option.default for option in cli.commands["preflight"].params}
    assert (defaults["rounds"], defaults["deadline"]) == (ROUNDS, DEADLINE_S)


def test_process_stops_before_it_has_written_anything(
    rclone_root: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root, manifest = rclone_root
    scene = write_scene(tmp_path / "scene.tif", 300, 300)
    code = run(["process", str(scene), "--to", root, "--manifest", manifest, "--json"])
    value = json.loads(capfd.readouterr().out)
    assert (code, value["exit_code"]) == (5, 5)
    assert value["error"]["kind"] == "preconditions-ignored"
    data = tmp_path / "rclone" / "data" / services.BUCKET
    files = [path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file()]
    assert files == [f"root/{keys.PROBE_KEY}"]
    assert not (tmp_path / "rows.db").exists()
