"""Hidden files that writers fill before they publish, and what dead writers left of them."""

import contextlib
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

from scenemosaic.errors import TransientStoreError
from scenemosaic.stores import local_files as files

ABANDONED_AFTER_S = 900.0

_log = logging.getLogger(__name__)


@contextlib.contextmanager
def scratch_file(folder: Path, token: str) -> Iterator[tuple[Path, int]]:
    """A new hidden file, open and locked while its writer lives, so that a sweep spares it.

    It is gone afterwards, and so is the ``.json`` beside it.
    """
    path = folder / f"{token}.tmp"
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = _created(path)
    try:
        yield path, descriptor
    finally:
        os.close(descriptor)
        for name in (path, path.with_suffix(".json")):
            _discard(name)


def _created(path: Path) -> int:
    """A new file, open and locked. Before it is locked another may take it for a dead writer's."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            files.wait_for_lock(descriptor, path)
        except TransientStoreError:
            os.close(descriptor)
            raise
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)


def sweep(folder: Path, now_s: float | None = None) -> None:
    """Remove hidden files that are old and whose writers are dead; an object keeps its own name."""
    before = (time.time() if now_s is None else now_s) - ABANDONED_AFTER_S
    for path in folder.glob("*"):
        with _only_files():
            if path.stat().st_mtime < before:
                discard(folder, path.name)


def abandoned(folder: Path, now_s: float | None = None) -> list[tuple[str, float]]:
    """Names of hidden files whose writers are dead, and their ages in seconds."""
    now_s = time.time() if now_s is None else now_s
    found = []
    for path in sorted(folder.glob("*")):
        with _only_files(), _locked(path) as is_dead:
            if is_dead:
                found.append((path.name, max(now_s - path.stat().st_mtime, 0.0)))
    return found


def discard(folder: Path, name: str) -> bool:
    """Remove one hidden file of a dead writer; False where it is gone or its writer lives."""
    path = folder / Path(name).name
    with _only_files(), _locked(path) as is_dead:
        if is_dead:
            _discard(path)
            return not path.exists()
    return False


def _only_files() -> contextlib.suppress:
    """Passes over what another has removed meanwhile, and over folders, which are not ours."""
    return contextlib.suppress(FileNotFoundError, IsADirectoryError)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Whether the file's writer is dead; while the block runs nobody else can think so."""
    writer = path.with_suffix(".tmp")
    with (writer if writer.exists() else path).open("rb") as file:
        yield files.try_lock(file.fileno())


def _discard(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        # What was published stays published; a later sweep takes the hidden file away.
        _log.warning("could not remove the hidden file %s: %s", path, error.strerror)
