"""What the local store knows of a file: entries that describe it, and which of them is true.

Metadata is written *before* the file that it describes is published. So the entries
of a key hold the version that stands there and, after a crash, one that never came
to stand there; the file itself decides. The cheap proof is size, mtime and inode. A
root that was copied elsewhere has other inodes: there the content decides.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

SAMPLES = 16
SAMPLE_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Entry:
    """One version of an object. ``proof`` is ``sha256:…``, or ``sample:…`` of a composed one."""

    revision: int
    size_bytes: int
    mtime_ns: int
    inode: int
    proof: str
    content_type: str
    metadata: Mapping[str, str]

    @property
    def etag(self) -> str:
        """Opaque; the revision keeps content that went x, y, x apart from the first x."""
        return f'"{self.revision}-{self.proof.partition(":")[2][:32]}"'

    def describes(self, status: os.stat_result) -> bool:
        return (self.size_bytes, self.mtime_ns, self.inode) == (
            status.st_size,
            status.st_mtime_ns,
            status.st_ino,
        )


def read_entries(path: Path) -> tuple[Entry, ...]:
    """The entries of a metadata file, newest first; none where it is absent or not ours."""
    try:
        document = json.loads(path.read_bytes())
        return tuple(Entry(**entry) for entry in document["entries"])
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError):
        # A metadata file that says nothing makes the object foreign: named, never adopted.
        return ()


def as_document(entries: Sequence[Entry]) -> dict[str, object]:
    """What :func:`read_entries` reads, as JSON's types."""
    return {"entries": [asdict(entry) for entry in entries]}


def matching(entries: Sequence[Entry], status: os.stat_result) -> Entry | None:
    """The entry that describes a file by size, mtime and inode."""
    return next((entry for entry in entries if entry.describes(status)), None)


def matching_content(entries: Sequence[Entry], descriptor: int) -> Entry | None:
    """The entry that describes an open file by its size and content; reads the file."""
    status = os.fstat(descriptor)
    proofs: dict[str, str] = {}
    for entry in entries:
        kind = entry.proof.partition(":")[0]
        if entry.size_bytes != status.st_size or kind not in _PROOFS:
            continue
        if kind not in proofs:
            proofs[kind] = _PROOFS[kind](descriptor, status.st_size)
        if proofs[kind] == entry.proof:
            return entry
    return None


def foreign_etag(status: os.stat_result) -> str:
    """The ETag of a file that no entry describes."""
    return f'"foreign-{status.st_ino:x}-{status.st_size:x}-{status.st_mtime_ns:x}"'


def full_proof(descriptor: int, size_bytes: int) -> str:
    """``sha256:`` and the hash of a file's bytes."""
    digest = hashlib.sha256()
    for offset in range(0, size_bytes, 1 << 20):
        digest.update(os.pread(descriptor, min(1 << 20, size_bytes - offset), offset))
    return f"sha256:{digest.hexdigest()}"


def sample_proof(descriptor: int, size_bytes: int) -> str:
    """``sample:`` and the hash of a file's size and of 16 pieces of it, first and last included.

    It tells a copy from another file; it is no proof of integrity, which is verify's to give.
    """
    digest = hashlib.sha256(str(size_bytes).encode())
    last = max(size_bytes - SAMPLE_BYTES, 0)
    for number in range(SAMPLES):
        digest.update(os.pread(descriptor, SAMPLE_BYTES, last * number // (SAMPLES - 1)))
    return f"sample:{digest.hexdigest()}"


_PROOFS: Mapping[str, Callable[[int, int], str]] = {"sha256": full_proof, "sample": sample_proof}
