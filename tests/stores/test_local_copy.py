"""Copies into a composed file: every byte in its place, seen on its way, room for it set aside."""

import ctypes
import errno
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenemosaic.errors import PermanentStoreError
from scenemosaic.stores import local_files as files
from scenemosaic.stores import open_store
from scenemosaic.stores.local_pipe import pipe_into
from scenemosaic.stores.port import CopyRun, Literal, Store
from tests.stores.conformance import MOSAIC, compose, create, written


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "root"))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    data=st.binary(max_size=300),
    offset=st.integers(0, 100),
    size=st.integers(0, 300),
    position=st.integers(0, 100),
)
def test_checked_copies_of_every_place_and_size(
    tmp_path: Path, data: bytes, offset: int, size: int, position: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BUFFER_BYTES", 16)
        (tmp_path / "source").write_bytes(data)
        with (tmp_path / "source").open("rb") as source, (tmp_path / "target").open("wb+") as file:
            with pipe_into(file.fileno()) as pipe:
                copied, crc = pipe.copy(source.fileno(), offset, size, position)
            file.seek(position)
            found = file.read()
    wanted = data[offset : offset + size]
    assert (copied, crc) == (len(wanted), zlib.crc32(wanted))
    assert found == wanted


def test_room_is_set_aside_without_a_length(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        files.reserve(file.fileno(), 5_000_000)
        assert os.fstat(file.fileno()).st_size == 0


def _answering(monkeypatch: pytest.MonkeyPatch, code: int) -> list[tuple[int, ...]]:
    asked: list[tuple[int, ...]] = []

    def fallocate(*given: int) -> int:
        asked.append(given)
        ctypes.set_errno(code)
        return -1

    monkeypatch.setattr(files, "_FALLOCATE", fallocate)
    return asked


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_too_small_says_so_before_a_byte_is_copied(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    info = create(store, b"abcdef")
    asked = _answering(monkeypatch, code)
    with pytest.raises(PermanentStoreError, match=f"{MOSAIC}.*free some space"):
        compose(store, [Literal(b"head"), CopyRun(info.key, info.etag, 1, 4)])
    assert [given[1:] for given in asked] == [(1, 0, 8)]
    assert not list((tmp_path / "root" / ".scenemosaic" / "tmp").iterdir())


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.ENOSYS, None])
def test_a_file_system_that_cannot_is_written_all_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch, code: int | None
) -> None:
    info = create(store, b"abcdef")
    if code is None:
        monkeypatch.setattr(files, "_FALLOCATE", None)
    else:
        _answering(monkeypatch, code)
    written(compose(store, [Literal(b"head"), CopyRun(info.key, info.etag, 1, 4)]))
    assert store.get(MOSAIC) == b"headbcde"
