"""Local pins: content, a cache that never matters, changes found."""

import hashlib
import json
import os
import pwd
import shutil
from pathlib import Path

import pytest

from scenemosaic.errors import InputError, SourceReadError
from scenemosaic.sources import pin_cache, pins
from scenemosaic.sources.pins import pin_source, verify_pin


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pin_cache, "_memory", {})


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths whose content was read."""
    read: list[str] = []

    def counted(path: str) -> str:
        read.append(path)
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()

    monkeypatch.setattr(pins, "hash_file", counted)
    return read


def test_a_file_is_its_content(tmp_path: Path) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(b"x" * 10_000_000)
    pin = pin_source(str(file)).pin
    assert pin.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (pin.uri, pin.size_bytes) == (None, 10_000_000)
    shutil.copy(file, tmp_path / "b.tif")
    assert pin_source(str(tmp_path / "b.tif")).pin == pin


def test_the_second_pin_reads_nothing(
    tmp_path: Path, hashes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(b"abc")
    first = pin_source(str(file))
    monkeypatch.setattr(pin_cache, "_memory", {})  # as another process would start
    assert pin_source(str(file)) == first
    assert len(hashes) == 1


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"null", b'{"sha256":1}', b"\xff\xfe", b'{"path":"x"}', b"[" * 5000],
)
def test_a_corrupt_cache_is_computed_again(
    tmp_path: Path, hashes: list[str], monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(b"abc")
    first = pin_source(str(file))
    (entry,) = (pin_cache.cache_dir() / "pins").iterdir()
    entry.write_bytes(damage)
    monkeypatch.setattr(pin_cache, "_memory", {})
    assert pin_source(str(file)) == first
    assert len(hashes) == 2


def test_a_cached_hash_that_is_none_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(b"abc")
    first = pin_source(str(file))
    (entry,) = (pin_cache.cache_dir() / "pins").iterdir()
    entry.write_text(json.dumps(json.loads(entry.read_text()) | {"sha256": "x" * 64}))
    monkeypatch.setattr(pin_cache, "_memory", {})
    assert pin_source(str(file)) == first


def test_a_cache_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    file = tmp_path / "a.tif"
    file.write_bytes(b"abc")
    assert pin_source(str(file)).pin.sha256 == hashlib.sha256(b"abc").hexdigest()


def test_nothing_half_written_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(b"abc")
    pin_source(str(file))
    names = [entry.name for entry in (pin_cache.cache_dir() / "pins").iterdir()]
    assert len(names) == 1
    assert names[0].endswith(".json")


def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert pin_cache.cache_dir() == Path("/home/somebody/.cache/scenemosaic")


def test_an_unchanged_source_is_verified_without_reading(tmp_path: Path, hashes: list[str]) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(b"abc")
    pin = pin_source(str(file)).pin
    for _ in range(5):
        verify_pin(pin, str(file))
    assert len(hashes) == 1


@pytest.mark.parametrize("content", [b"abd", b"abcd", b""])
def test_a_replaced_source_is_found_and_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(b"abc")
    pin = pin_source(str(file)).pin
    (tmp_path / "new").write_bytes(content)
    (tmp_path / "new").replace(file)
    with pytest.raises(SourceReadError, match=r"a\.tif"):
        verify_pin(pin, str(file))


def test_a_rewrite_that_restores_the_time_stamp_is_found(tmp_path: Path) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(b"abc")
    pin, before = pin_source(str(file)).pin, file.stat()
    with file.open("r+b") as stream:
        stream.write(b"xyz")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(SourceReadError, match="changed"):
        verify_pin(pin, str(file))


def test_touching_a_source_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(b"abc")
    pin = pin_source(str(file)).pin
    os.utime(file, ns=(1, 1))
    verify_pin(pin, str(file))
    assert pin_source(str(file)).pin == pin


def test_a_source_that_is_gone_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(b"abc")
    pin = pin_source(str(file)).pin
    file.unlink()
    with pytest.raises(SourceReadError, match=r"a\.tif.*No such file"):
        verify_pin(pin, str(file))


def test_a_file_that_grows_while_it_is_hashed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(b"abc")

    def growing(path: str) -> str:
        file.write_bytes(b"abcdef")
        return "0" * 64

    monkeypatch.setattr(pins, "hash_file", growing)
    with pytest.raises(InputError, match="changes while"):
        pin_source(str(file))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    for name, words in (
        (".", "directory"),
        ("none", "No such"),
        ("empty", "empty"),
        ("pipe", "regular"),
    ):
        with pytest.raises(InputError, match=words):
            pin_source(str(tmp_path / name))


def test_a_user_without_a_home_keeps_nothing_and_gets_no_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: {}[uid])
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "a.tif"
    source.write_bytes(b"pixels")
    state = pin_cache.FileState.of(str(source))
    pin_cache.remember(state, "0" * 64)
    assert pin_cache.remembered(state) == "0" * 64
    assert [path.name for path in tmp_path.iterdir()] == ["a.tif"]
