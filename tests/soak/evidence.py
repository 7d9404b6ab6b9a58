"""What stands at a place, as it was found past the adapters. Values alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an object. ``ours``: not what the soak's own back door put there."""

    version_id: str | None
    sha256: str
    ours: bool
    is_marker: bool = False


@dataclass(frozen=True, slots=True)
class RowSeen:
    """A manifest's row; ``version_id`` is None where the store keeps no versions."""

    partition: str
    window: str
    output_uri: str
    sha256: str | None
    version_id: str | None

    @property
    def is_of_a_job(self) -> bool:
        """Claims and preflight's own row have partitions of their own."""
        return "@" in self.partition and ":" not in self.partition


@dataclass(frozen=True, slots=True)
class Wanted:
    """A scene's job: what its mosaic has to hold, and the names of its windows."""

    scene: str
    job_id: str
    pixels: str
    windows: Sequence[str]


@dataclass(frozen=True, slots=True)
class Stands:
    """All of a place.

    ``history`` has the versions of each key below the root, oldest first, ``items`` each job's
    mosaic key that its ``item.json`` leads to, ``pixels`` the digest of what that mosaic holds
    or why there is none, ``replacing`` how often the audit log says beforehand that a key is
    replaced, ``uploads`` what is still open.
    """

    history: Mapping[str, Sequence[Version]]
    rows: Sequence[RowSeen]
    uploads: Sequence[str] = ()
    items: Mapping[str, str] = field(default_factory=dict)
    pixels: Mapping[str, str] = field(default_factory=dict)
    replacing: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
