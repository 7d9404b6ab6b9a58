"""Copies into a composed file: every byte in its place, seen on its way, room for it set aside."""

import ctypes
import errno
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenemosaic.errors import IncompleteError, PermanentStoreError
from scenemosaic.stores import local_files as files
from scenemosaic.stores import open_store
from scenemosaic.stores.port import CopyRun, FileSlice, Literal, ObjectInfo, Segment, Store
from tests.stores.conformance import MOSAIC, compose, create, written


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "root"))


@contextmanager
def small_chunks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BUFFER_BYTES", 16)
        yield


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_every_byte_is_in_its_place_whatever_the_segments(
    tmp_path: Path, data: st.DataObject
) -> None:
    store = open_store(tempfile.mkdtemp(dir=tmp_path))
    source = create(store, SOURCE)
    scratch = tmp_path / "levels.bin"
    scratch.write_bytes(SOURCE[::-1])
    pieces = data.draw(st.lists(segments(source, str(scratch)), max_size=12))
    with small_chunks():
        written(compose(store, pieces))
    assert store.get(MOSAIC) == b"".join(bytes_of(piece) for piece in pieces)


SOURCE = bytes(range(200))


@st.composite
def segments(draw: st.DrawFn, source: ObjectInfo, scratch: str) -> Segment:
    start, size = draw(st.integers(0, 100)), draw(st.integers(0, 100))
    match draw(st.sampled_from(("literal", "file", "run", "checked run"))):
        case "literal":
            return Literal(draw(st.binary(max_size=40)))
        case "file":
            return FileSlice(scratch, start, size)
        case kind:
            crc = zlib.crc32(SOURCE[start : start + size]) if kind == "checked run" else None
            return CopyRun(source.key, source.etag, start, size, crc)


def bytes_of(segment: Segment) -> bytes:
    if isinstance(segment, Literal):
        return segment.data
    data = SOURCE if isinstance(segment, CopyRun) else SOURCE[::-1]
    return data[segment.offset : segment.offset + segment.size_bytes]


@pytest.mark.parametrize("spoilt", [0, 1, 2])
def test_other_bytes_are_found_in_a_run_of_many_chunks(store: Store, spoilt: int) -> None:
    info = create(store, SOURCE)
    crcs = [zlib.crc32(SOURCE[start : start + 60]) for start in (0, 60, 120)]
    crcs[spoilt] ^= 1
    runs = [CopyRun(info.key, info.etag, 60 * i, 60, crc) for i, crc in enumerate(crcs)]
    where = f"somewhere from byte {60 * spoilt} to {60 * spoilt + 60}"
    with small_chunks(), pytest.raises(IncompleteError, match=where):
        compose(store, runs)
    assert store.head(MOSAIC) is None


def test_a_run_that_ends_early_stops_both_threads(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first chunk fails: of the thousands behind it hardly any is written."""
    info = create(store, SOURCE)
    positions: list[int] = []
    write = files.write_at

    def noting(descriptor: int, data: memoryview, position: int) -> None:
        positions.append(position)
        write(descriptor, data, position)

    monkeypatch.setattr(files, "write_at", noting)
    runs = [CopyRun(info.key, info.etag, 190, 16), *[CopyRun(info.key, info.etag, 0, 160)] * 2000]
    with small_chunks(), pytest.raises(IncompleteError, match="ends early: 10 of 16 bytes"):
        compose(store, runs)
    assert len(positions) < 10_000
    assert store.head(MOSAIC) is None


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
