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

from scenemosaic.errors import PermanentStoreError, StoreError, TransientStoreError

CHUNK_BYTES = 4 << 20
WRITE_BYTES = 128 << 10
BUFFER_BYTES = 2 << 20
PAGE_BYTES = 4096
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
_NO_KERNEL_COPY = {
    errno.EBADF,
    errno.EINVAL,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.EXDEV,
}
_ADVICE = {
    errno.EACCES: "; check the folder's permissions",
    errno.EPERM: "; check the folder's permissions, and that its file system has hard links",
    errno.EROFS: "; choose a root that can be written",
    errno.ENOSPC: "; free some space",
    errno.EDQUOT: "; free some space",
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
        _wait_for_lock(descriptor, path, deadline_s)
        yield
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, path: Path, deadline_s: float) -> None:
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
    view = memoryview(data)
    while view:
        done = os.pwrite(descriptor, view[:WRITE_BYTES], position)
        view, position = view[done:], position + done


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


def copy_range(source: int, offset: int, size_bytes: int, target: int, position: int) -> int:
    """Copy a range of ``source`` to ``position`` of ``target``; fewer bytes where the source ends.

    The kernel copies where both places lie alike within a page, so that a file
    system can share blocks. Elsewhere it would copy page by page through a pipe, and
    a buffer takes a third less CPU time.
    """
    alike = (position - offset) % PAGE_BYTES == 0
    done = _kernel_copy(source, offset, size_bytes, target, position) if alike else 0
    return done + _buffer_copy(source, offset + done, size_bytes - done, target, position + done)


def _kernel_copy(source: int, offset: int, size_bytes: int, target: int, position: int) -> int:
    """Bytes copied: fewer where the source ends, or where the file system does not do this."""
    copied = 0
    while copied < size_bytes:
        count = min(size_bytes - copied, CHUNK_BYTES)
        try:
            done = os.copy_file_range(source, target, count, offset + copied, position + copied)
        except OSError as error:
            if error.errno not in _NO_KERNEL_COPY:
                raise
            break
        if done == 0:
            break
        copied += done
    return copied


def _buffer_copy(source: int, offset: int, size_bytes: int, target: int, position: int) -> int:
    buffer = memoryview(bytearray(min(size_bytes, BUFFER_BYTES)))
    copied = 0
    while copied < size_bytes:
        piece = buffer[: piece_bytes(size_bytes - copied, position + copied)]
        done = os.preadv(source, [piece], offset + copied)
        if done == 0:
            break
        write_at(target, piece[:done], position + copied)
        copied += done
    return copied


def piece_bytes(left_bytes: int, position: int) -> int:
    """How much to write at once: pieces end where whole buffers of the target do.

    The kernel then keeps its pages in aligned groups, and copies into them a sixth faster.
    """
    return min(left_bytes, BUFFER_BYTES - position % BUFFER_BYTES)


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
