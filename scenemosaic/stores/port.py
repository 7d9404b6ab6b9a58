"""The store port: one attempt a call, a refusal is a value, capabilities are declared.

Keys are relative to the store's root, ``/``-separated, already checked
(:func:`scenemosaic.keys.check_key`). Adapters never retry a conditional request: the loop is
:mod:`scenemosaic.committing.commit`'s. Every call has a deadline.
"""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What a store says of one object. ``etag`` is opaque; ``metadata`` is ours."""

    key: str
    size_bytes: int
    etag: str
    version_id: str | None = None
    content_type: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    last_modified: str = ""  # RFC 3339, one-second resolution


class Answer(enum.Enum):
    """What a store's answer to a conditional write means."""

    WRITTEN = "written"
    REFUSED = "refused"  # 412, and Azure's 409 BlobAlreadyExists
    RACING = "racing"  # S3's 409 ConditionalRequestConflict: nothing is known to have landed
    GONE = "gone"  # 404 to If-Match


@dataclass(frozen=True, slots=True)
class IfAbsent:
    """Write only where the key holds no live object."""


@dataclass(frozen=True, slots=True)
class IfMatch:
    """Write only over the version with this ETag (a generation on Cloud Storage)."""

    etag: str


Condition = IfAbsent | IfMatch


@dataclass(frozen=True, slots=True)
class WriteResult:
    """An answer, and where it is WRITTEN what now stands at the key."""

    answer: Answer
    info: ObjectInfo | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """One object to write: bytes with their SHA-256 (hex), content type and metadata.

    Metadata names are lowercase identifiers (``sha256``, ``write_id``).
    """

    data: bytes
    sha256: str
    content_type: str
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Literal:
    """A segment of a composed object: bytes held in memory."""

    data: bytes

    @property
    def size_bytes(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class CopyRun:
    """A segment of a composed object: a byte range of another object of the same store.

    ``etag`` pins the object it is copied from; another version there is an error.
    A store that sees the bytes compares them with ``crc`` (CRC-32) where it is given.
    ``data`` are these bytes where they are at hand: a store that would read them need not.
    """

    key: str
    etag: str
    offset: int
    size_bytes: int
    crc: int | None = None
    data: memoryview | None = field(default=None, repr=False, compare=False)

    def part(self, offset: int, size_bytes: int, crc: int | None) -> "CopyRun":
        """The ``size_bytes`` that begin ``offset`` bytes into it."""
        data = None if self.data is None else self.data[offset : offset + size_bytes]
        return CopyRun(self.key, self.etag, self.offset + offset, size_bytes, crc, data)


@dataclass(frozen=True, slots=True)
class FileSlice:
    """A segment of a composed object: a byte range of a local scratch file."""

    path: str
    offset: int
    size_bytes: int


Segment = Literal | CopyRun | FileSlice


@dataclass(frozen=True, slots=True)
class Copying:
    """How finely ``compose`` may be told to copy at no more cost than in long runs.

    Runs of ``least_bytes`` and more, and of a level of a mosaic no more than ``most_runs``.
    """

    least_bytes: int = 0
    most_runs: int = 50_000


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the adapter offers; the conformance suite asserts both ways.

    ``is_far``: an answer is waited for, so several questions at once are answered sooner.
    """

    if_match: bool
    versions: bool
    delete_markers: bool
    server_side_copy: bool
    copying: Copying
    is_far: bool = True


class Head(Protocol):
    def head(self, key: str) -> ObjectInfo | None:
        """What stands at ``key``, or None where nothing does (a 403 is never None).

        Raises NotAnObject where that is a folder, say, or a link out of a local root; Unreadable
        where this one file may not be read; PermanentStoreError, TransientStoreError.
        """


class Get(Protocol):
    def get(
        self, key: str, offset: int = 0, size_bytes: int | None = None, etag: str | None = None
    ) -> bytes:
        """The object's bytes, or a range of them; with ``etag`` only of that version.

        Raises IncompleteError where the key is absent or the version is another, RetentionError
        where it lies in an archive tier, and else what :meth:`Head.head` raises.
        """


class Put(Protocol):
    def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
        """One conditional single-request PUT, one attempt.

        Raises TransientStoreError where it is not known whether the PUT landed.
        """


class Compose(Protocol):
    def compose(
        self,
        key: str,
        segments: Sequence[Segment],
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        """One object made of segments, copied inside the store where it can, condition last.

        Never holds the whole object in memory. A refused composition leaves nothing behind.
        """


class List(Protocol):
    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Every object below ``prefix`` in key order (metadata and content type left out)."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A write that was begun and is neither done nor ended. ``age_s`` is by the store's clock."""

    key: str
    upload_id: str
    age_s: float


@runtime_checkable
class Collects(Protocol):
    """Stores that keep (and bill) what a dead writer began, until somebody ends it.

    A store without it ends such writes by itself, or cannot list them.
    """

    def unfinished(self, prefix: str = "") -> Iterator[Unfinished]:
        """Every unfinished write below ``prefix`` whose writer is not known to live."""

    def end(self, key: str, upload_id: str) -> bool:
        """End one unfinished write; False where it had ended already, or its writer lives."""


@runtime_checkable
class Announces(Protocol):
    """Stores whose large writes have an ID by which somebody else can end them."""

    def announcing(self, begun: Callable[[str], None]) -> "Store":
        """This store, calling ``begun`` with each upload's ID before its first byte.

        What ``begun`` raises ends the upload, and is raised by ``compose``.
        """


@runtime_checkable
class Stages(Protocol):
    """Stores that make one object of a limited number of pieces."""

    def stages(self, segments: Sequence[Segment]) -> Iterator[tuple[Segment, ...]]:
        """The segments in order, alone or as several runs that have to be one object first."""


@runtime_checkable
class Store(Head, Get, Put, Compose, List, Protocol):
    """All verbs together, with the canonical URI of the root and its capabilities."""

    uri: str
    capabilities: Capabilities

    def object_uri(self, key: str) -> str:
        """The full URI of a key, for people and for manifest rows."""

    def close(self) -> None:
        """Free what the adapter holds open."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a key, or a delete marker. None: the store keeps one version at most.

    ``current``: it is what stands at the key now.
    """

    key: str
    version_id: str | None
    marker: bool = False
    current: bool = False


@runtime_checkable
class Histories(Protocol):
    """Stores that may keep former versions of a key, behind a delete marker or a newer one."""

    def versions(self, prefix: str) -> Iterator[Version]:
        """Every version and delete marker of keys that begin with ``prefix``; changes nothing.

        One attempt a page. Raises PermanentStoreError where versions may not be listed.
        """


class Probes(Protocol):
    """What preflight alone may do, with keys of its own alone (keys.check_probe_key)."""

    def versions(self, prefix: str) -> Iterator[Version]:
        """Every version and delete marker of keys that begin with ``prefix``."""

    def delete(self, key: str, version_id: str | None = None) -> None:
        """Delete exactly this version; without one, what stands there. Nothing there is no error.

        A versioned bucket keeps what stands there behind a delete marker.
        """


@runtime_checkable
class PlainProbes(Protocol):
    """Probes of a store whose policies can tell a conditional write from a plain one."""

    def put_without_condition(self, key: str, data: bytes) -> Version:
        """One plain PUT of a probe, one attempt: what a policy should deny.

        Raises PermanentStoreError where it is denied.
        """


@runtime_checkable
class Grounded(Protocol):
    """Stores whose conditions this software keeps by itself, on ground that must hold."""

    def unenforced(self) -> str:
        """What the ground accepts that it must refuse; empty where nothing.

        Asks only for what must be refused, leaves hidden files of fixed names, and deletes
        nothing. Raises StoreError where it cannot be tried.
        """


@runtime_checkable
class Probing(Protocol):
    """A store on which preflight can clean up after itself."""

    def probes(self) -> Probes:
        """The verbs that only preflight has."""
