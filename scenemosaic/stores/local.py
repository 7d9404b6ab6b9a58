"""The local store: objects are plain files, published whole or not at all.

A write goes into a hidden file of the same file system, then its metadata is
written, then the file gets its name: by a hard link, which fails where the name is
taken, no matter by whom, or under IfMatch by a rename while the key's lock is held.
A crash between any two of these leaves either the old state or the new one.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from scenemosaic.errors import (
    IncompleteError,
    NotAnObject,
    Unreadable,
)
from scenemosaic.keys import check_key
from scenemosaic.roots import Root
from scenemosaic.stores import local_files as files
from scenemosaic.stores import local_meta as meta
from scenemosaic.stores.local_compose import write_segments
from scenemosaic.stores.local_layout import Layout
from scenemosaic.stores.local_objects import Objects, info_of
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
        self._objects = Objects(self._layout)
        self._token = token
        self._swept = False

    def object_uri(self, key: str) -> str:
        return Path(self._layout.named(check_key(key))).as_uri()

    def close(self) -> None:
        """Nothing is held open."""

    def head(self, key: str) -> ObjectInfo | None:
        with self._objects.opened(key) as found:
            return found.info if found else None

    def get(
        self, key: str, offset: int = 0, size_bytes: int | None = None, etag: str | None = None
    ) -> bytes:
        with self._objects.opened(key) as found:
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
            size_bytes = write_segments(segments, descriptor, self._objects.opened)
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
        with self._objects.opened(key) as found:
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
        return WriteResult(Answer.WRITTEN, info_of(key, status, entry))
