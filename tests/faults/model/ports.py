"""An honest store and manifest in memory: every condition is checked, all that landed is kept."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from scenemosaic.errors import IncompleteError, MissingSchema
from scenemosaic.manifests.port import Existing, Inserted, Outline, Row, Stale, Updated
from scenemosaic.stores.port import (
    Answer,
    Body,
    Capabilities,
    Condition,
    Copying,
    CopyRun,
    FileSlice,
    IfAbsent,
    IfMatch,
    Literal,
    ObjectInfo,
    Segment,
    WriteResult,
)


@dataclass(frozen=True)
class Anyhow:
    """No condition at all: only mutants of the procedure ask for it."""


@dataclass(frozen=True)
class Version:
    info: ObjectInfo
    data: bytes


@dataclass
class ModelStore:
    """``history`` holds every version of every key that ever landed, oldest first."""

    landed: Callable[[str], None] = lambda key: None
    uri: str = "model://root"
    capabilities: Capabilities = field(default=Capabilities(True, True, True, True, Copying()))
    history: dict[str, list[Version]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def object_uri(self, key: str) -> str:
        return f"{self.uri}/{key}"

    def close(self) -> None:
        pass

    def head(self, key: str) -> ObjectInfo | None:
        return self.history[key][-1].info if key in self.history else None

    def get(
        self, key: str, offset: int = 0, size_bytes: int | None = None, etag: str | None = None
    ) -> bytes:
        found = self.history.get(key, [None])[-1]
        if found is None or etag not in (None, found.info.etag):
            raise IncompleteError(f"{key} is absent or another version")
        return found.data[offset : None if size_bytes is None else offset + size_bytes]

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        return (
            self.history[key][-1].info for key in sorted(self.history) if key.startswith(prefix)
        )

    def put(self, key: str, body: Body, condition: Condition | Anyhow) -> WriteResult:
        return self.write(key, body.data, condition, body.content_type, body.metadata)

    def compose(
        self,
        key: str,
        segments: Sequence[Segment],
        condition: Condition | Anyhow,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        data = b"".join(map(self._bytes_of, segments))
        return self.write(key, data, condition, content_type, metadata)

    def _bytes_of(self, segment: Segment) -> bytes:
        match segment:
            case Literal():
                return segment.data
            case CopyRun():
                return self.get(segment.key, segment.offset, segment.size_bytes, segment.etag)
            case FileSlice():
                data = Path(segment.path).read_bytes()
                return data[segment.offset : segment.offset + segment.size_bytes]

    def write(
        self,
        key: str,
        data: bytes,
        condition: Condition | Anyhow,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        standing = self.head(key)
        match condition:
            case IfAbsent() if standing is not None:
                return WriteResult(Answer.REFUSED)
            case IfMatch() if standing is None:
                return WriteResult(Answer.GONE)
            case IfMatch(etag) if standing is not None and standing.etag != etag:
                return WriteResult(Answer.REFUSED)
        number = next(self._numbers)
        info = ObjectInfo(
            *(key, len(data), f'"{number}"', f"v{number}", content_type, dict(metadata))
        )
        self.history.setdefault(key, []).append(Version(info, data))
        self.landed(key)
        return WriteResult(Answer.WRITTEN, info)


@dataclass
class ModelManifest:
    """``history`` holds every row that was ever stored, by partition and window."""

    landed: Callable[[Row], None] = lambda row: None
    url: str = "model://manifest"
    made: bool = False
    history: dict[tuple[str, str], list[Row]] = field(default_factory=dict)

    def ensure(self) -> bool:
        first, self.made = not self.made, True
        return first

    def ready(self) -> bool:
        return self.made

    def insert(self, row: Row) -> Inserted | Existing:
        existing = self.get(row.partition, row.window)
        if existing is not None:
            return Existing(existing)
        self.store(row)
        return Inserted()

    def store(self, row: Row) -> None:
        """Without any condition: a mutant's way in."""
        self.history.setdefault((row.partition, row.window), []).append(row)
        self.landed(row)

    def get(self, partition: str, window: str) -> Row | None:
        self._require()
        return self.history.get((partition, window), [None])[-1]

    def replace(self, row: Row, revision: int) -> Updated | Stale:
        existing = self.get(row.partition, row.window)
        if existing is None or existing.revision != revision:
            return Stale(existing)
        new = replace(row, revision=revision + 1)
        self.store(new)
        return Updated(new)

    def windows(self, partitions: Sequence[str]) -> Iterator[str]:
        return (row.window for row in self.rows(partitions))

    def outlines(self, partition: str) -> Iterator[Outline]:
        return (
            Outline(row.window, row.output_uri, row.bytes, row.etag, row.version_id)
            for row in self.rows([partition])
        )

    def rows(self, partitions: Sequence[str]) -> Iterator[Row]:
        self._require()
        keys = [key for wanted in partitions for key in sorted(self.history) if key[0] == wanted]
        return iter([self.history[key][-1] for key in keys])

    def close(self) -> None:
        pass

    def _require(self) -> None:
        if not self.made:
            raise MissingSchema("the model's manifest is not set up")
