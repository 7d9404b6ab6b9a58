"""The local store's objects held open: which file stands at a key, and what is known of it."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scenemosaic.errors import NotAnObject, TransientStoreError
from scenemosaic.moments import epoch_rfc3339
from scenemosaic.stores import local_files as files
from scenemosaic.stores import local_meta as meta
from scenemosaic.stores.local_layout import Layout
from scenemosaic.stores.port import ObjectInfo

_ATTEMPTS: Final = 50
_NO_FILE: Final = (errno.ELOOP, errno.ENXIO)  # links in a circle; a socket


@dataclass(frozen=True, slots=True)
class Opened:
    """An object held open: the very file that ``info`` describes, whatever its name points to."""

    descriptor: int
    status: os.stat_result
    entry: meta.Entry | None
    info: ObjectInfo


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects below a root."""

    layout: Layout

    @contextlib.contextmanager
    def opened(self, key: str) -> Iterator[Opened | None]:
        """The object held open and told apart from others, or None where there is none."""
        path = self.layout.path(key)
        with files.naming(f"reading {path}"):
            found = self._identify(key, path)
            try:
                yield found
            finally:
                if found is not None:
                    os.close(found.descriptor)

    def _identify(self, key: str, path: Path) -> Opened | None:
        for _ in range(_ATTEMPTS):
            descriptor = self._open(key, path)
            if descriptor is None:
                return None
            try:
                found = self._describe(key, path, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            if found is not None:
                return found
            os.close(descriptor)
        raise TransientStoreError(f"{self.layout.named(key)} keeps changing while it is looked at")

    def _open(self, key: str, path: Path) -> int | None:
        named = self.layout.named(key)
        try:
            # Non-blocking, so that a pipe of that name does not hang us.
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno in _NO_FILE:
                text = f"{named} is not a file ({error.strerror}); move it away"
                raise NotAnObject(text) from error
            if error.errno == errno.EACCES:
                raise files.unreadable(named, error) from error
            raise

    def _entries(self, key: str) -> tuple[meta.Entry, ...]:
        path = self.layout.meta_path(key)
        try:
            return meta.read_entries(path)
        except PermissionError as error:
            raise files.unreadable(str(path), error) from error

    def _describe(self, key: str, path: Path, descriptor: int) -> Opened | None:
        """None where the file was replaced meanwhile, so that its entry may be gone."""
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotAnObject(f"{self.layout.named(key)} is not a file; move it away")
        entries = self._entries(key)
        entry = meta.matching(entries, status)
        if entry is None:
            if not _is_at(path, status):
                return None
            entry = meta.matching_content(entries, descriptor)
        return Opened(descriptor, status, entry, info_of(key, status, entry))


def _is_at(path: Path, status: os.stat_result) -> bool:
    try:
        now = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(now, status) and now.st_mtime_ns == status.st_mtime_ns


def info_of(key: str, status: os.stat_result, entry: meta.Entry | None) -> ObjectInfo:
    """What the port says of a file; of one without an entry only what the file says."""
    return ObjectInfo(
        key=key,
        size_bytes=status.st_size,
        etag=entry.etag if entry else meta.foreign_etag(status),
        content_type=entry.content_type if entry else "",
        metadata=dict(entry.metadata) if entry else {},
        last_modified=epoch_rfc3339(status.st_mtime),
    )
