"""Whether a file system keeps what the local store relies on: exclusive names, and locks.

Network file systems may be mounted so that they do not. What two machines do to each other
no single one can show.
"""

import contextlib
import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from scenemosaic.errors import TransientStoreError
from scenemosaic.stores import local_files as files

_PROBE, _LINK, _LOCK, _RECORDS = "probe", "link", "lock", "records"


def unenforced(folder: Path) -> str:
    """What is accepted here that must be refused; empty where nothing is.

    Leaves a few empty files of fixed names in ``folder``, and deletes nothing. Raises
    StoreError where it cannot be tried, as on a file system without hard links.
    """
    with files.naming(f"trying the file system of {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        if _twice_created(folder / _PROBE):
            return "its file system creates a file, exclusively, that is there already"
        if _twice_linked(folder / _PROBE, folder / _LINK):
            return "its file system links a name that is taken"
        with files.locked(folder / _LOCK):
            if _is_free(folder / _LOCK):
                return "its file system gives one lock (flock) to two holders"
            # Behind that lock, as closing a file drops this process's record locks on it.
            if _twice_recorded(folder / _RECORDS):
                return "its file system gives one record lock (fcntl) to two holders"
    return ""


def _twice_created(path: Path) -> bool:
    return [_created(path), _created(path)][1]


def _created(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    except FileExistsError:
        return False
    return True


def _twice_linked(target: Path, link: Path) -> bool:
    return [_linked(target, link), _linked(target, link)][1]


def _linked(target: Path, link: Path) -> bool:
    try:
        link.hardlink_to(target)
    except FileExistsError:
        return False
    return True


def _is_free(lock: Path) -> bool:
    try:
        with files.locked(lock, deadline_s=0.0):
            return True
    except TransientStoreError:
        return False


def _twice_recorded(path: Path) -> bool:
    """Record locks are a process's own: one of the open file's conflicts with them all the same."""
    with _opened(path) as descriptor:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        whole = struct.pack("hhlli", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, whole)
        except BlockingIOError:
            return False
        return True


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
