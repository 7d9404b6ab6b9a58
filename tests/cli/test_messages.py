"""Lines that people read: what was given, and why it is no use. No error numbers, no classes."""

from pathlib import Path

import pytest

from flows.cli import run


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
