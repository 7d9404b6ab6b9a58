"""What a copy holds open: each object once for all threads, and never too many."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scenemosaic.errors import IncompleteError
from scenemosaic.stores import local_files, local_sources
from scenemosaic.stores.local_sources import Source, sources
from scenemosaic.stores.port import CopyRun, ObjectInfo

KEYS = "abcdef"
HELD = 3
ETAG = '"1"'


@dataclass(frozen=True)
class Open:
    descriptor: int
    status: os.stat_result
    info: ObjectInfo


@dataclass
class Folder:
    """Files of two bytes, named a to f: which are open, and how often each was opened."""

    path: Path
    now: set[str] = field(default_factory=set)
    often: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for key in KEYS:
            (self.path / key).write_text(2 * key)

    @contextmanager
    def __call__(self, key: str) -> Iterator[Source | None]:
        descriptor = os.open(self.path / key, os.O_RDONLY)
        self.now.add(key)
        self.often.append(key)
        try:
            yield Open(descriptor, os.fstat(descriptor), ObjectInfo(key, 2, ETAG, "", {}, ""))
        finally:
            os.close(descriptor)
            self.now.remove(key)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setattr(local_sources, "_HELD", HELD)
    return Folder(tmp_path)


def read(found: local_sources.Sources, key: str) -> str:
    room = bytearray(2)
    found.read(CopyRun(key, ETAG, 0, 2), memoryview(room))
    return room.decode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(KEYS), max_size=40))
def test_whatever_the_order_all_is_read_and_few_are_open(folder: Folder, asked: list[str]) -> None:
    with sources(folder) as found:
        for key in asked:
            assert read(found, key) == 2 * key
            assert key in folder.now
            assert len(folder.now) <= HELD
    assert not folder.now


def test_threads_share_what_is_open(folder: Folder) -> None:
    together = Barrier(2)

    def use() -> None:
        for key in "abc":
            together.wait()
            assert read(found, key) == 2 * key

    with sources(folder) as found:
        threads = [Thread(target=use) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert folder.often == ["a", "b", "c"]


def test_what_another_thread_reads_from_stays_open(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread is held up in the middle of "a", while the other asks for all the rest."""
    begun, go_on = Barrier(2), Barrier(2)
    plain = local_files.read_into

    def slow(descriptor: int, room: memoryview, offset: int) -> int:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith("/a"):
            begun.wait()
            go_on.wait()
        return plain(descriptor, room, offset)

    monkeypatch.setattr(local_files, "read_into", slow)
    said: list[str] = []
    with sources(folder) as found:
        thread = Thread(target=lambda: said.append(read(found, "a")))
        thread.start()
        begun.wait()
        for key in "bcdef":
            read(found, key)
            assert "a" in folder.now
        go_on.wait()
        thread.join()
    assert said == ["aa"]


def read_all_the_while_one_changes(folder: Folder, others: str) -> None:
    with sources(folder) as found:
        read(found, "a")
        (folder.path / "a").write_text("longer")
        for key in others:
            read(found, key)
        assert not others, "it was let go, and nobody looked"


@pytest.mark.parametrize("others", ["", "bcd"], ids=["at the end", "as it is let go"])
def test_one_that_changed_meanwhile_is_named(folder: Folder, others: str) -> None:
    with pytest.raises(IncompleteError, match="a changed while"):
        read_all_the_while_one_changes(folder, others)
    assert not folder.now
