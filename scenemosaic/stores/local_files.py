"""File operations of the local store: errors that name the key, locks, copies, durable writes."""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from scenemosaic.errors import PermanentStoreError, StoreError, TransientStoreError, Unreadable

WRITE_BYTES = 128 << 10
# Chunks of a file begin at multiples of it: the kernel keeps its pages in aligned groups then,
# and copies into them a sixth faster.
BUFFER_BYTES = 2 << 20
LOCK_DEADLINE_S = 60.0

_PASSING = {
    errno.EAGAIN,
    errno.EBUSY,
    errno.EINTR,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOLCK,
    errno.ESTALE,
    errno.ETIMEDOUT,
}
_ADVICE = {
    errno.EACCES: "; check the folder's permissions",
    errno.EPERM: "; check the folder's permissions, and that its file system has hard links",
    errno.EROFS: "; choose a root that can be written",
    errno.ENOSPC: "; free some space",
    errno.EDQUOT: "; free some space",
    errno.EFBIG: "; raise the limit on the size of files (ulimit -f), or choose another root",
    errno.EMFILE: "; raise the limit on open files (ulimit -n)",
    errno.ENFILE: "; raise the system's limit on open files (fs.file-max)",
    errno.EXDEV: "; keep the whole root on one file system",
    errno.ENOTDIR: "; a part of the path is a file, not a folder",
}


def store_error(error: OSError, doing: str) -> StoreError:
    """The store error for an OSError: transient where trying again can help."""
    code = error.errno or 0
    message = f"{doing}: {error.strerror or error}{_ADVICE.get(code, '')}"
    if code in _PASSING:
        return TransientStoreError(message)
    return PermanentStoreError(message)


def unreadable(named: str, error: OSError) -> Unreadable:
    """The error where one object, or a folder of them, may not be read."""
    advice = "give this user the right to read it"
    return Unreadable(f"{named} may not be read ({error.strerror}); {advice}")


@contextlib.contextmanager
def naming(doing: str) -> Iterator[None]:
    """Turn an OSError of the block into a store error that says what was being done."""
    try:
        yield
    except OSError as error:
        raise store_error(error, doing) from error


@contextlib.contextmanager
def locked(path: Path, deadline_s: float = LOCK_DEADLINE_S) -> Iterator[None]:
    """Hold an exclusive lock on ``path``, against threads and processes, freed by any death."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        wait_for_lock(descriptor, path, deadline_s)
        yield
    finally:
        os.close(descriptor)


def wait_for_lock(descriptor: int, path: Path, deadline_s: float = LOCK_DEADLINE_S) -> None:
    """Take the exclusive lock of an open file. TransientStoreError where another keeps it."""
    end, pause_s = time.monotonic() + deadline_s, 0.0005
    while not try_lock(descriptor):
        if time.monotonic() > end:
            raise TransientStoreError(
                f"{path}: still locked by another writer after {deadline_s} s"
            )
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.02)


def try_lock(descriptor: int) -> bool:
    """Take the exclusive lock of an open file; False where another holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write every byte of ``data``."""
    view = memoryview(data)
    while view:
        # For more at once the kernel takes its pages in larger groups. In a virtual machine
        # these are often ones that the host took back: up to twenty times the cost.
        view = view[os.write(descriptor, view[:WRITE_BYTES]) :]


def write_at(descriptor: int, data: bytes | memoryview, position: int) -> None:
    """Write every byte of ``data`` at ``position``; the file's own position stays."""
    view, done = memoryview(data), 0
    while done < len(view):
        done += os.pwrite(descriptor, view[done : done + WRITE_BYTES], position + done)


def reserve(descriptor: int, size_bytes: int) -> None:
    """Have the file system set room aside for a file that will grow to ``size_bytes``.

    Writes are then a third cheaper, and a disk that is too small says so at once. The
    file's length stays as it is, so that what a power cut leaves unwritten is missing, not
    zero. Does nothing where the file system cannot do this.
    """
    if _FALLOCATE is None or not size_bytes:
        return
    if _FALLOCATE(descriptor, _KEEP_SIZE, 0, size_bytes):
        code = ctypes.get_errno()
        if code in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(code, os.strerror(code))


def _fallocate() -> Callable[[int, int, int, int], int] | None:
    """Linux's fallocate: os.posix_fallocate changes the length, and may write every page."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "fallocate64", None)
    if function is None:
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    found: Callable[[int, int, int, int], int] = function
    return found


_FALLOCATE = _fallocate()
_KEEP_SIZE = 1


def sync_folder(path: Path) -> None:
    """Make the folder's entries durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_json(path: Path, scratch: Path, document: object) -> None:
    """Replace the file at ``path`` by a JSON document, whole and durable, by way of ``scratch``."""
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        write_all(descriptor, json.dumps(document, sort_keys=True).encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch.replace(path)
    sync_folder(path.parent)


def read_into(descriptor: int, room: memoryview, offset: int) -> int:
    """Fill ``room`` from ``offset`` of an open file; fewer bytes where it ends early."""
    filled = 0
    while filled < len(room):
        done = os.preadv(descriptor, [room[filled:]], offset + filled)
        if done == 0:
            break
        filled += done
    return filled


def read_range(descriptor: int, offset: int, size_bytes: int) -> bytes:
    """A range of an open file; fewer bytes where it ends early."""
    pieces: list[bytes] = []
    while size_bytes:
        # Linux reads at most 2 GiB at once.
        piece = os.pread(descriptor, min(size_bytes, 1 << 30), offset)
        if not piece:
            break
        pieces.append(piece)
        offset, size_bytes = offset + len(piece), size_bytes - len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
