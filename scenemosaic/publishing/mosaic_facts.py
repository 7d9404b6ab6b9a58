"""What an item says of a stored mosaic beside its plan, so that every writer says the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from scenemosaic.publishing.band_facts import HeaderFacts
from scenemosaic.stores.port import ObjectInfo

_MULTIHASH_SHA256: Final = "1220"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A stored file; ``sha256`` is None where its bytes were never seen."""

    size_bytes: int
    sha256: str | None

    def to_json(self) -> dict[str, object]:
        """As the file extension has it."""
        known: dict[str, object] = {"file:size": self.size_bytes}
        if self.sha256 is not None:
            known["file:checksum"] = _MULTIHASH_SHA256 + self.sha256
        return known


def file_facts(stored: ObjectInfo) -> FileFacts:
    """A file as it stands, whoever wrote it."""
    return FileFacts(stored.size_bytes, stored.metadata.get("sha256"))


@dataclass(frozen=True, slots=True)
class MosaicFacts:
    """All of it is read from what is stored.

    ``rows_sha256`` is the digest of the rows that the mosaic was built from
    (``rows_digest``), ``waived`` holds each waived window's reason.
    """

    file: FileFacts
    digest: str
    preview: FileFacts | None = None
    header: HeaderFacts = field(default_factory=HeaderFacts)
    rows_sha256: str | None = None
    revision: int = 0
    waived: Mapping[str, str] = field(default_factory=dict)
