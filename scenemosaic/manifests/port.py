"""The manifest port: rows that prove tiles, inserted by condition, counted by page.

A partition comes from :func:`scenemosaic.keys.partition`, the sort key is the
window's name, or ``mosaic``.
"""

import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Row:
    """One object as stored. ``blocks`` is packed by :mod:`scenemosaic.tiff.blocksizes`.

    ``crc`` holds the CRC-32 of each level's run, level 0 first. ``revision``
    starts at 1. ``written_at`` is RFC 3339 in UTC. ``waiver`` is an operator's reason for a
    window that holds nodata instead of its source's pixels.
    """

    partition: str
    window: str
    output_uri: str
    bytes: int
    sha256: str | None
    etag: str
    version_id: str | None
    blocks: builtins.bytes | None  # the field above hides the name
    crc: tuple[int, ...]
    revision: int
    written_by: str
    written_at: str
    software: Mapping[str, str] = field(default_factory=dict)
    waiver: str | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """Of a row, which object it is about: values as they are stored, whatever wrote them."""

    window: str
    output_uri: object
    bytes: object
    etag: object
    version_id: object


@dataclass(frozen=True, slots=True)
class Inserted:
    """The row was absent and is ours now."""


@dataclass(frozen=True, slots=True)
class Existing:
    """A row stood there; it is kept."""

    row: Row


@dataclass(frozen=True, slots=True)
class Updated:
    """The row was replaced; its revision is one more."""

    row: Row


@dataclass(frozen=True, slots=True)
class Stale:
    """Nothing was replaced: the row's revision is another, or it is gone (None)."""

    row: Row | None


class Manifest(Protocol):
    """Opened by URL; safe to use from many threads and processes at once."""

    url: str

    def ensure(self) -> bool:
        """Make the table or schema where it is missing; True where something was made.

        A column that an earlier version did not know is made, too.
        """

    def ready(self) -> bool:
        """Whether table or schema is there; makes nothing, not even a file.

        All other calls but ensure raise MissingSchema where it is not, and OldSchema where
        an earlier version made it.
        """

    def insert(self, row: Row) -> Inserted | Existing:
        """Insert where absent, in one conditional request.

        Raises TransientStoreError where it is not known whether the insert landed.
        """

    def get(self, partition: str, window: str) -> Row | None:
        """One row by its key, consistently read. Raises UnreadableRow, as whatever returns rows."""

    def replace(self, row: Row, revision: int) -> Updated | Stale:
        """Replace the row whose revision is ``revision``; compare-and-swap."""

    def windows(self, partitions: Sequence[str]) -> Iterator[str]:
        """The sort keys of all rows, every page of every partition, consistently read.

        Names alone are carried: cheap to count. Includes ``mosaic`` where it is there.
        """

    def outlines(self, partition: str) -> Iterator[Outline]:
        """The same of one partition, with what says which version of which object a row is of."""

    def rows(self, partitions: Sequence[str]) -> Iterator[Row]:
        """All rows, every page of every partition, consistently read."""

    def close(self) -> None:
        """Free what the adapter holds open."""


@runtime_checkable
class SeesOtherRoots(Protocol):
    """Manifests that can look for a job's rows whatever root they are of."""

    def uri_elsewhere(self, job_id: str, partitions: Sequence[str]) -> str | None:
        """The object that some row of the job in none of these partitions describes, if any."""


@runtime_checkable
class ProbeRows(Protocol):
    """A manifest in which preflight can clean up after itself."""

    def delete_probe(self, partition: str, window: str) -> None:
        """Delete a row of preflight's own (keys.check_probe_partition), if it is there."""


@runtime_checkable
class LongConditions(Protocol):
    """Manifests that judge conditions written out in a language of their own, at any length."""

    def insert_at_length(self, row: Row) -> Inserted | Existing:
        """:meth:`Manifest.insert` of a probe row, its condition said as often as is allowed.

        That takes longer to judge: a service that looks first and writes later comes apart.
        """
