"""What the file system must keep is tried on the file system itself, and a pretender is named."""

import errno
import fcntl
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from scenemosaic.errors import PermanentStoreError, TransientStoreError
from scenemosaic.stores.local_proof import unenforced


def test_a_sound_folder_is_sound_every_time(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "preflight"
    for _ in range(3):
        assert unenforced(folder) == ""
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == dict.fromkeys(
        ("probe", "link", "lock", "records"), 0
    )
    assert (folder / "probe").samefile(folder / "link")


def test_many_at_once_accuse_nobody(tmp_path: Path) -> None:
    barrier = Barrier(8)

    def look(_: int) -> str:
        barrier.wait()
        return unenforced(tmp_path)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(look, range(8))) == {""}


Patch = Callable[[pytest.MonkeyPatch], None]


def _creates_again(patch: pytest.MonkeyPatch) -> None:
    real = os.open

    def pretending(path: Any, flags: int, *mode: int) -> int:
        return real(path, flags & ~os.O_EXCL, *mode)

    patch.setattr(os, "open", pretending)


def _links_again(patch: pytest.MonkeyPatch) -> None:
    def pretending(self: Path, target: Path) -> None:
        self.unlink(missing_ok=True)
        os.link(target, self)

    patch.setattr(Path, "hardlink_to", pretending)


def _locks_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fcntl, "flock", lambda descriptor, how: None)


def _records_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fcntl, "lockf", lambda descriptor, how: None)


@pytest.mark.parametrize(
    ("patch", "named"),
    [
        (_creates_again, "creates a file, exclusively, that is there already"),
        (_links_again, "links a name that is taken"),
        (_locks_twice, r"lock \(flock\) to two holders"),
        (_records_twice, r"record lock \(fcntl\) to two holders"),
    ],
)
def test_a_pretender_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patch: Patch, named: str
) -> None:
    patch(monkeypatch)
    for _ in range(2):
        problem = unenforced(tmp_path)
        assert re.search(named, problem), problem


@pytest.mark.parametrize(
    ("code", "error"), [(errno.EPERM, PermanentStoreError), (errno.ENOLCK, TransientStoreError)]
)
def test_what_cannot_be_tried_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, error: type[Exception]
) -> None:
    def failing(self: Path, target: Path) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "hardlink_to", failing)
    with pytest.raises(error, match="trying the file system of"):
        unenforced(tmp_path)
