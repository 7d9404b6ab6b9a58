"""Lines that people read: what was given, and why it is no use. No error numbers, no classes."""

from pathlib import Path

import pytest
from botocore.exceptions import EndpointConnectionError

from flows.cli import run
from scenemosaic.errors import TransientStoreError
from scenemosaic.manifests import dynamodb_errors
from scenemosaic.planning.survey import plan_scene
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources import s3_errors
from scenemosaic.sources.http_source import head_http
from scenemosaic.sources.scene_time import notes_of_time
from scenemosaic.stores import s3_requests
from scenemosaic.waiting.deadlines import Ending
from tests.flows.scenes import make_scene


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe\x00", "cannot be read: it is no UTF-8 text"),
    ],
)
def test_a_list_that_cannot_be_read(
    data: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "scenes.txt"
    if data is not None:
        listed.write_bytes(data)
    assert run(["backfill", "--list", str(listed), "--to", str(tmp_path / "root")]) == 2
    assert capsys.readouterr().err == f"scenemosaic: --list {listed} {said}\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--compress", "rar"], "--compress must be one of deflate, "),
        (["--block-size", "100"], "--block-size must be a multiple of 16, not 100"),
        (["--window", "100"], "--window must be a multiple of 512, or of the --block-size"),
        (["--resampling", "sinc"], "--resampling must be one of nearest, "),
        (["--effort", "most"], "--effort must be one of fast, "),
        (["--level", "99"], "--level: level of deflate must be within 1..12, not 99"),
    ],
)
def test_a_bad_option_is_named_and_not_the_file(
    given: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["process", "scene.tif", "--to", str(tmp_path / "root"), *given]) == 2
    assert capsys.readouterr().err.startswith(f"scenemosaic: {said}")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["process", "a.tif"], "no root: add --to FOLDER or --block NAME (see "),
        (["process", "a.tif", "out"], "no root: if out is meant as one, write --to out (see "),
        (["backfill", "a.tif", "b.tif"], "no root: add --to FOLDER or --block NAME (see "),
        (["ledger", "show", "publish"], "no root: add --to FOLDER or --block NAME (see "),
        (["init"], "no root: add ROOT or --block NAME (see "),
        (["status", "x", "--to", "a", "--block", "b"], "give a root or --block NAME, and not both"),
        (["process", "a.tif", "--to", "file.txt"], "file.txt is a file, and a root is a folder"),
        (["process", "folder", "--to", "root"], "folder: is a directory; give a raster file, or "),
        (["status", "ab" * 16, "--to", "outt"], "there is no folder: is the root spelled right?"),
        (["serve", "--port", "99999"], "99999 is not in the range 1<=x<=65535"),
    ],
)
def test_what_is_wrong_with_a_command_line_and_what_to_do(
    given: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").touch()
    (tmp_path / "folder").mkdir()
    assert run(given) == 2
    assert said in capsys.readouterr().err
    assert len(list(tmp_path.iterdir())) == 2


def test_a_new_root_is_named_and_an_empty_folder_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    assert run(["gc", str(tmp_path)]) == 0
    assert "is the root spelled right?" in capsys.readouterr().out
    for said in (True, False):
        assert run(["init", str(root)]) == 0
        assert (f"root     {root} is a new folder" in capsys.readouterr().out) is said
    assert run(["gc", str(root)]) == 0
    assert "nothing was abandoned" in capsys.readouterr().out


def test_a_scene_without_a_time_is_found_by_every_search(tmp_path: Path) -> None:
    plan, _ = plan_scene([str(make_scene(tmp_path / "scene.tif"))], PlanOptions())
    (note,) = notes_of_time(plan)
    assert "covers all years (0001 to 9999), so that every search by time finds it" in note
    dated, _ = plan_scene([str(tmp_path / "scene.tif")], PlanOptions(datetime="2024-05-01T10:00Z"))
    assert not notes_of_time(dated)


def test_who_cannot_be_reached() -> None:
    unreached = EndpointConnectionError(endpoint_url="http://127.0.0.1:9/bucket")
    advice = "; check AWS_ENDPOINT_URL, the region and the network"
    for error in (
        s3_requests.unanswered_error(unreached, "GetObject", "s3://bucket/key", Ending(1.0, 1)),
        dynamodb_errors.classify("Query", "table", unreached),
        s3_errors.s3_error("s3://bucket/key: HEAD", unreached),
    ):
        assert isinstance(error, TransientStoreError)
        assert str(error).endswith(advice)
    with pytest.raises(TransientStoreError) as caught:
        head_http("http://127.0.0.1:9/a.tif")
    assert str(caught.value) == (
        "http://127.0.0.1:9/a.tif: HEAD: Connection refused; check the URL, that its server runs, "
        "and the network"
    )
