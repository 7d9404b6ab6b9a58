"""``backfill`` as people run it: usage, a dry run, and twice over the same scenes."""

import io
import json
from pathlib import Path

import pytest

from flows.cli import run
from scenemosaic import keys
from tests.flows.scenes import BLOCK, WINDOW, make_scene
from tests.flows.serving import objects, run_command

SIZES = ["--window", str(WINDOW), "--block-size", str(BLOCK)]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "only one"),
        (["a.tif", "--prefix", "."], "only one"),
        (["a.tif", "--asset", "visual"], "--stac"),
        (["a.tif", "--since", "2024-05-01"], "--prefix and --stac"),
        (["--prefix", ".", "--since", "May"], "'May'"),
        (["--prefix", ".", "--since", "2024-05-02", "--until", "2024-05-01"], "swap"),
        (["--prefix", "absent"], "absent"),
        (["--list", "absent.txt"], "absent.txt"),
        (["a.tif", "--at-once", "51"], "51"),
        (["a.tif", "--workers", "257"], "--workers: Input should be less than or equal to 256"),
        (["a.tif", "--deployment", "process-scene/default"], "PREFECT_API_URL"),
    ],
)
def test_bad_usage(tmp_path: Path, more: list[str], said: str) -> None:
    answer = run_command(["backfill", *more, "--to", str(tmp_path / "root"), "--json"], tmp_path)
    assert answer.code == 2
    assert answer.value()["exit_code"] == 2
    assert said in answer.err.splitlines()[-1]
    assert not (tmp_path / "root").exists()


def test_a_dry_run_of_a_list(tmp_path: Path) -> None:
    for seed, name in enumerate(("a.tif", "b.tif")):
        make_scene(tmp_path / name, seed=seed)
    (tmp_path / "list.txt").write_text("# scenes\na.tif\n\nabsent.tif\nb.tif\n")
    given = ["backfill", "--list", "list.txt", "--to", "root", *SIZES, "--dry-run", "--json"]
    answer = run_command(given, tmp_path)
    value = answer.value()
    assert (answer.code, value["state"]) == (3, "DryRun"), "as the run itself would exit"
    assert [row["state"] for row in value["rows"]] == ["WouldRun", "BadInput", "WouldRun"]
    assert value["rows"][0]["windows"] == 12
    assert "2 scenes of 3 without a time" in answer.err
    assert answer.err.count("all years") == 1, "of all of them at once"
    assert answer.err.count("absent.tif") == 1
    assert "absent.tif: cannot be read: No such file" in answer.err
    assert not (tmp_path / "root").exists()


def test_a_damaged_item_is_a_row_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_scene(tmp_path / "a.tif")
    (tmp_path / "cut.json").write_text('{"type": "Feature", "ass')
    listed = "\ufeff# scenes\ncut.json\na.tif\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(listed))
    for given in (["--list", "-"], ["cut.json", "a.tif"]):
        assert run(["backfill", *given, "--to", "root", *SIZES, "--dry-run", "--json"]) == 3
        cut, whole = json.loads(capsys.readouterr().out)["rows"]
        assert (cut["state"], cut["exit_code"]) == ("BadInput", 2)
        assert cut["detail"].startswith(f"{tmp_path / 'cut.json'} cannot be read as STAC: it is no")
        assert cut["detail"].endswith("(it was listed as a scene)")
        assert whole["state"] == "WouldRun"


def test_people_are_told_as_it_ends_and_in_the_table_what_is_wrong_with_a_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.tif").write_text("no raster")
    assert run(["backfill", "bad.tif", "--to", "root", *SIZES, "--dry-run"]) == 2
    told = capsys.readouterr()
    assert told.err.count("not a raster") == told.out.count("not a raster") == 1
    assert told.err.count("bad.tif") == told.out.count("bad.tif") == 1


@pytest.mark.slow
def test_twice(tmp_path: Path, prefect_server: str) -> None:
    (tmp_path / "in").mkdir()
    for seed in (1, 2, 3):
        make_scene(tmp_path / "in" / f"{seed}.tif", seed=seed)
    (tmp_path / "in" / "bad.tif").write_text("no raster")
    given = ["backfill", "--prefix", "in", "--to", "root", *SIZES, "--at-once", "3", "--json"]
    first = run_command(given, tmp_path, {"PREFECT_API_URL": prefect_server})
    assert first.code == 3, "what was refused stands beside what was written"
    assert first.value()["counts"] == {"BadInput": 1, "Mosaicked": 3}
    assert len(list((tmp_path / "root").glob(keys.mosaic_key("*")))) == 3
    (tmp_path / "in" / "bad.tif").unlink()
    before = objects(tmp_path / "root")
    second = run_command(given, tmp_path)
    assert (second.code, second.value()["state"]) == (0, "AlreadyMosaicked")
    assert objects(tmp_path / "root") == before
    # Nobody would ever read what a temporary server recorded.
    assert "temporary server" not in second.err
