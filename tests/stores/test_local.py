"""What is special to local files: other writers, copies of a root, links, faults of the disk."""

import errno
import os
import pickle
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scenemosaic.errors import (
    IncompleteError,
    InputError,
    NotAnObject,
    PermanentStoreError,
    StoreError,
    TransientStoreError,
    Unreadable,
)
from scenemosaic.stores import local, local_files, local_meta, local_scratch, open_store
from scenemosaic.stores.port import Answer, CopyRun, IfAbsent, IfMatch, Literal, Store
from tests.stores.conformance import KEY, MOSAIC, body, compose, create, written


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def store(root: Path) -> Store:
    return open_store(str(root))


def test_objects_are_plain_files_and_all_else_is_hidden(root: Path, store: Store) -> None:
    create(store, b"first")
    (root / "manifest.db").write_bytes(b"db")
    (root / "manifest.db-wal").write_bytes(b"db")
    assert (root / KEY).read_bytes() == b"first"
    assert (root / KEY).stat().st_nlink == 1
    assert [info.key for info in store.list("")] == [KEY]
    assert not list((root / ".scenemosaic" / "tmp").iterdir())


@pytest.mark.parametrize("key", [".scenemosaic/meta/x.json", "manifest.db", "manifest.db-wal"])
def test_the_stores_own_files_are_no_keys(store: Store, key: str) -> None:
    with pytest.raises(InputError, match="kept for the store"):
        store.put(key, body(b"x"), IfAbsent())


@pytest.mark.parametrize("copy", ["cp", "cp -a"])
def test_a_copied_root_keeps_etags_and_metadata(root: Path, store: Store, copy: str) -> None:
    tile = written(store.put(KEY, body(b"second"), IfMatch(create(store, b"first").etag)))
    mosaic = written(compose(store, [Literal(b"head" * 99_999), CopyRun(KEY, tile.etag, 0, 6)]))
    copier = shutil.copy if copy == "cp" else shutil.copy2
    shutil.copytree(root, root.parent / "copy", copy_function=copier)
    other = open_store(str(root.parent / "copy"))
    for before in (tile, mosaic):
        found = other.head(before.key)
        assert found is not None
        assert (found.etag, found.metadata) == (before.etag, before.metadata)
    assert other.get(KEY, etag=tile.etag) == b"second"
    written(other.put(KEY, body(b"third"), IfMatch(tile.etag)))


@pytest.mark.parametrize("size_bytes", [1, 6, 5_000_000])
def test_a_changed_file_is_foreign(root: Path, store: Store, size_bytes: int) -> None:
    info = written(compose(store, [Literal(bytes(5_000_000))]))
    (root / MOSAIC).write_bytes(b"x" * size_bytes)
    found = store.head(MOSAIC)
    assert found is not None
    assert found.metadata == {}
    assert found.etag != info.etag


def test_a_writer_that_takes_no_lock_is_refused_nothing_and_overwritten_never(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = os.link

    def intruding(source: str, target: str, **more: bool) -> None:
        Path(target).write_bytes(b"theirs")
        publish(source, target, **more)

    monkeypatch.setattr(os, "link", intruding)
    assert store.put(KEY, body(b"ours"), IfAbsent()).answer is Answer.REFUSED
    monkeypatch.undo()
    found = store.head(KEY)
    assert found is not None
    assert found.metadata == {}
    assert (root / KEY).read_bytes() == b"theirs"


def test_a_revision_never_comes_back(store: Store, root: Path) -> None:
    etags = set()
    for data in (b"x", b"y", b"x"):
        etags.add(create(store, data).etag)
        (root / KEY).unlink()
    assert len(etags) == 3


def test_readers_see_whole_versions_while_it_is_replaced(store: Store) -> None:
    create(store, b"0" * 100_000)
    stop = threading.Event()
    seen: list[tuple[str, bytes]] = []

    def read() -> None:
        while not stop.is_set():
            info = store.head(KEY)
            assert info is not None
            try:
                seen.append((info.metadata["sha256"], store.get(KEY, etag=info.etag)))
            except IncompleteError:
                continue  # Replaced between the two.

    reader = threading.Thread(target=read)
    reader.start()
    wrote = {}
    for number in range(60):
        info = store.head(KEY)
        assert info is not None
        new = body(b"%d" % (number % 10) * 100_000)
        wrote[new.sha256] = new.data
        written(store.put(KEY, new, IfMatch(info.etag)))
    stop.set()
    reader.join()
    wrote[body(b"0" * 100_000).sha256] = b"0" * 100_000
    assert all(wrote[sha256] == data for sha256, data in seen)


def test_a_reader_that_two_replacements_overtake_looks_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    etag = create(store, b"first").etag
    read, twice = local_meta.read_entries, [b"second", b"third"]

    def overtaken(path: Path) -> tuple[local_meta.Entry, ...]:
        nonlocal etag
        pending, twice[:] = list(twice), []  # The writers read entries, too.
        for data in pending:
            etag = written(store.put(KEY, body(data), IfMatch(etag))).etag
        return read(path)

    monkeypatch.setattr(local_meta, "read_entries", overtaken)
    found = store.head(KEY)
    assert found is not None
    assert (found.etag, found.metadata) == (etag, body(b"third").metadata)


@pytest.mark.parametrize("skew", [0, 1])
def test_copies_ranges_of_every_size(store: Store, skew: int) -> None:
    data = os.urandom(3 * local_files.BUFFER_BYTES)
    info = create(store, data)
    for size_bytes in (0, 1, local_files.BUFFER_BYTES, local_files.BUFFER_BYTES + 1, len(data) - 7):
        run = CopyRun(KEY, info.etag, 7, size_bytes)
        key = f"mosaics/{size_bytes}.tif"
        pieces = [Literal(b"x" * (7 + skew)), run]
        written(store.compose(key, pieces, IfAbsent(), "image/tiff", {}))
        assert store.get(key)[7 + skew :] == data[7 : 7 + size_bytes]


def test_a_source_that_changes_while_it_is_copied_stops_the_composition(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = create(store, b"abcdef")
    read = local_files.read_into

    def changing(descriptor: int, room: memoryview, offset: int) -> int:
        os.utime(root / KEY, ns=(1, 1))
        return read(descriptor, room, offset)

    monkeypatch.setattr(local_files, "read_into", changing)
    with pytest.raises(IncompleteError, match="changed while"):
        compose(store, [CopyRun(KEY, info.etag, 0, 6)])
    assert store.head(MOSAIC) is None


def test_a_link_out_of_the_root_is_refused(root: Path, store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    create(store, b"first")
    (root / "out").symlink_to(outside, target_is_directory=True)
    (root / "file").symlink_to(outside / "secret")
    for key in ("out/new.tif", "out/secret", "file"):
        with pytest.raises(NotAnObject, match="symbolic link"):
            store.put(key, body(b"x"), IfAbsent())
        with pytest.raises(NotAnObject, match="symbolic link"):
            store.get(key)
    assert [info.key for info in store.list("")] == [KEY]
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]


def test_a_hidden_folder_that_leads_elsewhere_is_refused(root: Path, tmp_path: Path) -> None:
    root.mkdir()
    (root / ".scenemosaic").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(PermanentStoreError, match="symbolic link"):
        open_store(str(root)).put(KEY, body(b"x"), IfAbsent())


def test_a_file_for_a_root_is_permanent(root: Path) -> None:
    root.write_bytes(b"a file")
    with pytest.raises(PermanentStoreError, match=r"tiles/0123/0000_0001\.tif"):
        open_store(str(root)).put(KEY, body(b"x"), IfAbsent())


def test_what_is_no_file_in_an_objects_place_is_not_ours(root: Path, store: Store) -> None:
    (root / KEY).mkdir(parents=True)
    with pytest.raises(NotAnObject, match="not a file"):
        store.head(KEY)
    (root / KEY).rmdir()
    (root / KEY).symlink_to(root / KEY)
    with pytest.raises(NotAnObject, match="not a file"):
        store.head(KEY)
    assert list(store.list("")) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_root_without_permission_is_permanent(root: Path, store: Store) -> None:
    root.mkdir(mode=0o500)
    with pytest.raises(PermanentStoreError, match="permissions"):
        store.put(KEY, body(b"x"), IfAbsent())


FAULTS: list[tuple[int, type[StoreError]]] = [
    (errno.EACCES, PermanentStoreError),
    (errno.EROFS, PermanentStoreError),
    (errno.ENOSPC, PermanentStoreError),
    (errno.EDQUOT, PermanentStoreError),
    (errno.EIO, TransientStoreError),
    (errno.ESTALE, TransientStoreError),
    (errno.EMFILE, TransientStoreError),
]


@pytest.mark.parametrize(("code", "kind"), FAULTS)
@pytest.mark.parametrize("call", ["mkdir", "write", "fsync", "link", "replace"])
def test_a_fault_of_the_disk_names_the_object_and_leaves_nothing(
    root: Path,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    code: int,
    kind: type[StoreError],
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, failing)
        with pytest.raises(kind, match=KEY) as caught:
            store.put(KEY, body(b"x" * 9), IfAbsent())
    assert os.strerror(code) in str(caught.value)
    assert store.head(KEY) is None
    assert not list((root / ".scenemosaic" / "tmp").glob("*"))
    create(store, b"after")


def test_a_lock_has_a_deadline(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with (
        local_files.locked(path),
        pytest.raises(TransientStoreError, match="still locked"),
        local_files.locked(path, deadline_s=0.0),
    ):
        pass
    with local_files.locked(path, deadline_s=0.0):
        pass


def test_a_sweep_takes_only_what_is_old_and_dead(root: Path, store: Store) -> None:
    create(store, b"x")
    folder = root / ".scenemosaic" / "tmp"
    (folder / "dead.tmp").write_bytes(b"half")
    later = (folder / "dead.tmp").stat().st_mtime + local_scratch.ABANDONED_AFTER_S
    with local_scratch.scratch_file(folder, "alive") as (alive, _):
        os.utime(alive, (0, 0))
        local_scratch.sweep(folder, later - 1)
        assert sorted(path.name for path in folder.iterdir()) == ["alive.tmp", "dead.tmp"]
        local_scratch.sweep(folder, later + 1)
        assert [path.name for path in folder.iterdir()] == ["alive.tmp"]
    os.utime(root / KEY, (0, 0))
    (folder / "dead.tmp").write_bytes(b"half")
    os.utime(folder / "dead.tmp", (0, 0))
    create(open_store(str(root)), b"y", "tiles/other.tif")
    assert not list(folder.iterdir())


def test_a_sweep_spares_what_lies_beside_the_file_of_a_living_writer(tmp_path: Path) -> None:
    with local_scratch.scratch_file(tmp_path, "alive") as (alive, _):
        alive.with_suffix(".json").write_text("{}")
        local_scratch.sweep(tmp_path, time.time() + 2 * local_scratch.ABANDONED_AFTER_S)
        assert alive.with_suffix(".json").exists(), "as after a clock that was set forward"


def test_a_hidden_file_that_is_taken_for_dead_as_it_begins_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, taken = local_files.wait_for_lock, list[bool]()

    def meanwhile(descriptor: int, path: Path) -> None:
        if not taken:
            taken.append(local_scratch.discard(tmp_path, path.name))
        real(descriptor, path)

    monkeypatch.setattr(local_files, "wait_for_lock", meanwhile)
    with local_scratch.scratch_file(tmp_path, "new") as (path, descriptor):
        assert taken == [True]
        assert path.stat().st_ino == os.fstat(descriptor).st_ino
        assert not local_scratch.discard(tmp_path, path.name)
    assert not list(tmp_path.iterdir())


def test_big_compositions_are_not_forced_to_disk_and_small_ones_are(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[int] = []
    sync: Callable[[int], None] = os.fsync

    def noting(descriptor: int) -> None:
        forced.append(os.fstat(descriptor).st_size)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    monkeypatch.setattr(local, "SYNC_COMPOSED_BELOW_BYTES", 100_000)
    written(compose(store, [Literal(bytes(99_999))]))
    assert 99_999 in forced
    store.compose("mosaics/big.tif", [Literal(bytes(100_000))], IfAbsent(), "image/tiff", {})
    assert 100_000 not in forced


def test_a_store_can_be_sent_to_another_process(store: Store) -> None:
    create(store, b"first")
    assert pickle.loads(pickle.dumps(store)).get(KEY) == b"first"


def test_a_folder_that_may_not_be_read_hides_no_other_from_a_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(str(tmp_path))
    for key in ("a/x", "b/y", "c/z"):
        store.put(key, body(b"1"), IfAbsent())
    scan = os.scandir

    def refused(folder: Any) -> Any:
        if Path(folder) == tmp_path / "b":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return scan(folder)

    monkeypatch.setattr(os, "scandir", refused)
    assert [info.key for info in store.list("")] == ["a/x", "c/z"]
    with pytest.raises(Unreadable, match="b may not be read"):
        list(store.list("b/"))
