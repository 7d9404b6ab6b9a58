"""A writer dies between any two of its effects, or is killed: what is left is old or new, whole."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scenemosaic.committing.commit import Outcome, RetryPolicy, commit_composed, commit_object
from scenemosaic.stores import local_scratch, open_store
from scenemosaic.stores.port import CopyRun, FileSlice, IfAbsent, IfMatch, Literal, Store
from tests.faults.effects import FakeTime
from tests.stores.conformance import KEY, MOSAIC, body, compose, create, written

EFFECTS = ("open", "write", "pwrite", "fsync", "mkdir", "link", "replace", "unlink")


class Died(BaseException):
    """The process is dead: nothing that it would still do has any effect."""


class Mortal:
    """Counts the effects of a block and dies at the ``last`` one, which happens half or not."""

    def __init__(self, patched: pytest.MonkeyPatch, last: int) -> None:
        self.last = last
        self.count = 0
        for name in EFFECTS:
            patched.setattr(os, name, self._counted(name, getattr(os, name)))

    def _counted(self, name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **more: object) -> object:
            self.count += 1
            if self.count == self.last and name in ("write", "pwrite"):
                descriptor, data, *position = arguments
                assert isinstance(data, (bytes, memoryview))
                real(descriptor, data[: len(data) // 2], *position)
            if self.count >= self.last:
                raise Died
            return real(*arguments, **more)

        return call


def dies_at_each_effect(
    monkeypatch: pytest.MonkeyPatch,
    fresh: Callable[[], Store],
    write: Callable[[Store], object],
    check: Callable[[Store], None],
) -> int:
    """Run ``write`` with a death at its first, second, … effect; how many there are."""
    for last in range(1, 200):
        store = fresh()
        with monkeypatch.context() as patched:
            mortal = Mortal(patched, last)
            try:
                write(store)
            except Died:
                pass
            survived = mortal.count < last
        check(open_store(store.uri))
        if survived:
            return last - 1
    raise RuntimeError("a write has fewer than 200 effects")


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[], Store]:
    roots = (tmp_path / str(number) for number in range(1000))
    return lambda: open_store(str(next(roots)))


def swept(store: Store) -> list[str]:
    folder = Path(store.uri.removeprefix("file://")) / ".scenemosaic" / "tmp"
    local_scratch.sweep(folder, time.time() + 2 * local_scratch.ABANDONED_AFTER_S)
    return [path.name for path in folder.glob("*")]


def test_create(monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], Store]) -> None:
    ours = body(b"data" * 1000, "run-1/0000_0001")

    def check(store: Store) -> None:
        found = store.head(KEY)
        assert found is None or found.metadata == ours.metadata
        assert [info.key for info in store.list("")] == ([KEY] if found else [])
        done = commit_object(store, KEY, ours, IfAbsent(), RetryPolicy(), FakeTime().effects())
        assert done.outcome is Outcome.WRITTEN
        assert store.get(KEY) == ours.data
        assert swept(store) == []
        assert store.head(KEY) == done.info

    effects = dies_at_each_effect(
        monkeypatch, fresh, lambda store: store.put(KEY, ours, IfAbsent()), check
    )
    assert effects >= 10


def test_replace(monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], Store]) -> None:
    old, new = body(b"old" * 1000, "run-1/a"), body(b"new" * 1000, "run-1/b")
    states = set()

    def prepared() -> Store:
        store = fresh()
        written(store.put(KEY, old, IfAbsent()))
        return store

    def write(store: Store) -> None:
        info = store.head(KEY)
        assert info is not None
        store.put(KEY, new, IfMatch(info.etag))

    def check(store: Store) -> None:
        found = store.head(KEY)
        assert found is not None
        now = old if found.metadata == old.metadata else new
        states.add(now.data)
        assert found.metadata == now.metadata
        assert store.get(KEY, etag=found.etag) == now.data
        third = written(store.put(KEY, body(b"third"), IfMatch(found.etag)))
        assert third.etag != found.etag
        assert store.get(KEY, etag=third.etag) == b"third"
        assert swept(store) == []

    assert dies_at_each_effect(monkeypatch, prepared, write, check) >= 10
    assert states == {old.data, new.data}


def test_compose(
    monkeypatch: pytest.MonkeyPatch, fresh: Callable[[], Store], tmp_path: Path
) -> None:
    scratch = tmp_path / "levels"
    scratch.write_bytes(b"levels")
    metadata = {"digest": "d", "write_id": "run-1/mosaic"}

    def prepared() -> Store:
        store = fresh()
        create(store, b"0123456789")
        return store

    def pieces(store: Store) -> list[Literal | CopyRun | FileSlice]:
        info = store.head(KEY)
        assert info is not None
        # The slice goes through the buffer, the run through the kernel.
        run = CopyRun(KEY, info.etag, 3, 6)
        return [FileSlice(str(scratch), 3, 3), run, Literal(b"tail")]

    def check(store: Store) -> None:
        found = store.head(MOSAIC)
        assert found is None or found.metadata == metadata
        effects = FakeTime().effects()
        done = commit_composed(
            store, MOSAIC, pieces(store), IfAbsent(), "image/tiff", metadata, RetryPolicy(), effects
        )
        assert done.outcome is Outcome.WRITTEN
        assert store.get(MOSAIC) == b"els345678tail"
        assert swept(store) == []

    effects = dies_at_each_effect(
        monkeypatch, prepared, lambda store: compose(store, pieces(store)), check
    )
    assert effects >= 10


CHILD = """
import hashlib, sys
from scenemosaic.stores import open_store
from scenemosaic.stores.port import Body, IfAbsent, IfMatch
store = open_store(sys.argv[1])

def body(data, write_id):
    sha256 = hashlib.sha256(data).hexdigest()
    return Body(data, sha256, "image/tiff", {"sha256": sha256, "write_id": write_id})

store.put("ledger/n.json", body(b"0", "0"), IfAbsent())
print("ready", flush=True)
for number in range(int(sys.argv[2])):
    key = f"tiles/{number:04d}.tif"
    store.put(key, body(key.encode() * 20_000, key), IfAbsent())
    info = store.head("ledger/n.json")
    count = int(store.get("ledger/n.json", etag=info.etag)) + 1
    store.put("ledger/n.json", body(b"%d" % count, str(count)), IfMatch(info.etag))
"""
KILLS = 25
OBJECTS = 2000


def run_child(root: Path, objects: int) -> "subprocess.Popen[bytes]":
    repository = Path(__file__).resolve().parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(root), str(objects)],
        cwd=repository,
        env=os.environ | {"PYTHONPATH": str(repository)},
        stdout=subprocess.PIPE,
    )


@pytest.mark.slow
def test_kills_at_random_moments_leave_only_whole_objects(tmp_path: Path) -> None:
    root, chance, count = tmp_path / "root", random.Random(3), -1
    for _ in range(KILLS):
        with run_child(root, OBJECTS) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 0.1))
            child.send_signal(signal.SIGKILL)
        # Not killed too late: it must have been at work.
        assert child.returncode == -signal.SIGKILL
        count = check_whole(open_store(str(root)), count)
    store = open_store(str(root))
    made = len(list(store.list("tiles/")))
    with run_child(root, made + 10) as child:
        child.communicate()
    assert child.returncode == 0
    assert len(list(store.list("tiles/"))) == made + 10
    assert check_whole(store, count) > count
    assert swept(store) == []


def check_whole(store: Store, count: int) -> int:
    for info in store.list("tiles/"):
        found = store.head(info.key)
        assert found is not None
        data = store.get(info.key, etag=found.etag)
        assert data == info.key.encode() * 20_000
        assert found.metadata["sha256"] == hashlib.sha256(data).hexdigest()
    ledger = store.head("ledger/n.json")
    assert ledger is not None
    now = int(store.get("ledger/n.json", etag=ledger.etag))
    assert ledger.metadata["write_id"] == str(now)
    assert now >= count
    return now
