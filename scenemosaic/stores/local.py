"""The local store: objects are plain files, published whole or not at all.

A write goes into a hidden file of the same file system, then its metadata is
written, then the file gets its name: by a hard link, which fails where the name is
taken, no matter by whom, or under IfMatch by a rename while the key's lock is held.
A crash between any two of these leaves either the old state or the new one.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from scenemosaic.errors import (
    IncompleteError,
    NotAnObject,
    TransientStoreError,
    Unreadable,
)
from scenemosaic.keys import check_key
from scenemosaic.roots import Root
from scenemosaic.stores import local_files as files
from scenemosaic.stores import local_meta as meta
from scenemosaic.stores.local_compose import write_segments
from scenemosaic.stores.local_layout import Layout
from scenemosaic.stores.local_probes import LocalProbes
from scenemosaic.stores.local_proof import unenforced
from scenemosaic.stores.local_scratch import abandoned, discard, scratch_file, sweep
from scenemosaic.stores.port import (
    Answer,
    Body,
    Capabilities,
    Condition,
    Copying,
    IfAbsent,
    ObjectInfo,
    Segment,
    Unfinished,
    WriteResult,
)

# Above this a composed object is not forced to disk: doing so doubles assembly's wall time.
# docs/adr/0003-local-store.md says what a power cut may then cost.
SYNC_COMPOSED_BELOW_BYTES = 64 << 20
_IDENTIFY_ATTEMPTS = 50
_NO_FILE = (errno.ELOOP, errno.ENXIO)  # links in a circle; a socket


@dataclass(frozen=True, slots=True)
class Opened:
    """An object held open: the very file that ``info`` describes, whatever its name points to."""

    descriptor: int
    status: os.stat_result
    entry: meta.Entry | None
    info: ObjectInfo


class LocalStore:
    """A folder as a store. Safe for many threads and processes; picklable.

    ``token`` names hidden files and must not repeat itself within a root.
    """

    capabilities = Capabilities(
        if_match=True,
        versions=False,
        delete_markers=False,
        server_side_copy=True,
        copying=Copying(),
        is_far=False,
    )

    def __init__(self, root: Root, token: Callable[[], str] = secrets.token_hex) -> None:
        self.uri = root.uri
        self._layout = Layout(Path(root.prefix))
        self._token = token
        self._swept = False

    def object_uri(self, key: str) -> str:
        return Path(self._layout.named(check_key(key))).as_uri()

    def close(self) -> None:
        """Nothing is held open."""

    def head(self, key: str) -> ObjectInfo | None:
        with self.opened(key) as found:
            return found.info if found else None

    def get(
        self, key: str, offset: int = 0, size_bytes: int | None = None, etag: str | None = None
    ) -> bytes:
        with self.opened(key) as found:
            if found is None:
                raise IncompleteError(f"{self._layout.named(key)} is absent")
            if etag is not None and found.info.etag != etag:
                raise IncompleteError(
                    f"{self._layout.named(key)} was replaced: "
                    f"it has the ETag {found.info.etag}, not {etag}"
                )
            rest = max(found.status.st_size - offset, 0)
            count = rest if size_bytes is None else min(size_bytes, rest)
            return files.read_range(found.descriptor, offset, count)

    def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
        def fill(descriptor: int) -> str:
            files.write_all(descriptor, body.data)
            os.fsync(descriptor)
            return f"sha256:{body.sha256}"

        return self._write(key, condition, fill, body.content_type, body.metadata)

    def compose(
        self,
        key: str,
        segments: Sequence[Segment],
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        def fill(descriptor: int) -> str:
            size_bytes = write_segments(segments, descriptor, self.opened)
            if size_bytes < SYNC_COMPOSED_BELOW_BYTES:
                os.fsync(descriptor)
            return meta.sample_proof(descriptor, size_bytes)

        return self._write(key, condition, fill, content_type, metadata)

    def unenforced(self) -> str:
        return unenforced(self._layout.proof_folder)

    def probes(self) -> LocalProbes:
        return LocalProbes(self._layout)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Every object whose key begins with ``prefix``. Symbolic links are not followed.

        Nor is what may not be read, which has no ETag for us: whoever asks for its key is told.
        """
        for key in self._layout.keys(prefix):
            try:
                info = self.head(key)
            except (NotAnObject, Unreadable):  # the former: below a link out of the root
                continue
            if info is not None:
                yield ObjectInfo(key, info.size_bytes, info.etag, last_modified=info.last_modified)

    def unfinished(self, prefix: str = "") -> Iterator[Unfinished]:
        """Hidden files whose writers are dead. They have no key yet: ``prefix`` chooses none."""
        for name, age_s in abandoned(self._layout.scratch_folder):
            yield Unfinished(self._layout.scratch_name(name), name, age_s)

    def end(self, key: str, upload_id: str) -> bool:
        return discard(self._layout.scratch_folder, upload_id)

    @contextlib.contextmanager
    def opened(self, key: str) -> Iterator[Opened | None]:
        """The object held open and told apart from others, or None where there is none."""
        path = self._layout.path(key)
        with files.naming(f"reading {self._layout.named(key)}"):
            found = self._identify(key, path)
            try:
                yield found
            finally:
                if found is not None:
                    os.close(found.descriptor)

    def _identify(self, key: str, path: Path) -> Opened | None:
        for _ in range(_IDENTIFY_ATTEMPTS):
            try:
                # Non-blocking, so that a pipe of that name does not hang us.
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            except (FileNotFoundError, NotADirectoryError):
                return None
            except OSError as error:
                if error.errno in _NO_FILE:
                    raise NotAnObject(
                        f"{self._layout.named(key)} is not a file ({error.strerror}); move it away"
                    ) from error
                if error.errno == errno.EACCES:
                    raise Unreadable(
                        f"{self._layout.named(key)} may not be read ({error.strerror}); "
                        "give this user the right to read it"
                    ) from error
                raise
            try:
                found = self._describe(key, path, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            if found is not None:
                return found
            os.close(descriptor)
        raise TransientStoreError(f"{self._layout.named(key)} keeps changing while it is looked at")

    def _describe(self, key: str, path: Path, descriptor: int) -> Opened | None:
        """None where the file was replaced meanwhile, so that its entry may be gone."""
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotAnObject(f"{self._layout.named(key)} is not a file; move it away")
        entries = meta.read_entries(self._layout.meta_path(key))
        entry = meta.matching(entries, status)
        if entry is None:
            if not _is_at(path, status):
                return None
            entry = meta.matching_content(entries, descriptor)
        return Opened(descriptor, status, entry, _info(key, status, entry))

    def _write(
        self,
        key: str,
        condition: Condition,
        fill: Callable[[int], str],
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        path = self._layout.path(key)
        if isinstance(condition, IfAbsent) and os.path.lexists(path):
            return WriteResult(Answer.REFUSED)
        with files.naming(f"writing {self._layout.named(key)}"):
            self._sweep_once()
            with scratch_file(self._layout.scratch_folder, self._token()) as (scratch, descriptor):
                proof = fill(descriptor)
                with files.locked(self._layout.lock_path(key)):
                    refusal, kept = self._refusal(key, path, condition)
                    if refusal is not None:
                        return WriteResult(refusal)
                    entry = self._entry(key, descriptor, proof, content_type, metadata)
                    return self._publish(key, path, scratch, condition, entry, kept)

    def _sweep_once(self) -> None:
        if not self._swept:
            self._swept = True
            sweep(self._layout.scratch_folder)

    def _refusal(
        self, key: str, path: Path, condition: Condition
    ) -> tuple[Answer | None, meta.Entry | None]:
        """Why not to write, if at all, and the entry of what stands there."""
        with self.opened(key) as found:
            if isinstance(condition, IfAbsent):
                return (Answer.REFUSED if found or os.path.lexists(path) else None), None
            if found is None:
                return Answer.GONE, None
            stale = found.info.etag != condition.etag
            return (Answer.REFUSED if stale else None), found.entry

    def _entry(
        self, key: str, descriptor: int, proof: str, content_type: str, metadata: Mapping[str, str]
    ) -> meta.Entry:
        status = os.fstat(descriptor)
        past = meta.read_entries(self._layout.meta_path(key))
        return meta.Entry(
            revision=1 + max((entry.revision for entry in past), default=0),
            size_bytes=status.st_size,
            mtime_ns=status.st_mtime_ns,
            inode=status.st_ino,
            proof=proof,
            content_type=content_type,
            metadata=dict(metadata),
        )

    def _publish(
        self,
        key: str,
        path: Path,
        scratch: Path,
        condition: Condition,
        entry: meta.Entry,
        kept: meta.Entry | None,
    ) -> WriteResult:
        status = scratch.stat()
        entries = [entry] if kept is None else [entry, kept]
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace_json(
            self._layout.meta_path(key), scratch.with_suffix(".json"), meta.as_document(entries)
        )
        if isinstance(condition, IfAbsent):
            try:
                path.hardlink_to(scratch)
            except FileExistsError:
                return WriteResult(Answer.REFUSED)
        else:
            scratch.replace(path)
        files.sync_folder(path.parent)
        return WriteResult(Answer.WRITTEN, _info(key, status, entry))


def _is_at(path: Path, status: os.stat_result) -> bool:
    try:
        now = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(now, status) and now.st_mtime_ns == status.st_mtime_ns


def _info(key: str, status: os.stat_result, entry: meta.Entry | None) -> ObjectInfo:
    modified = datetime.fromtimestamp(int(status.st_mtime), UTC)
    return ObjectInfo(
        key=key,
        size_bytes=status.st_size,
        etag=entry.etag if entry else meta.foreign_etag(status),
        content_type=entry.content_type if entry else "",
        metadata=dict(entry.metadata) if entry else {},
        last_modified=modified.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
