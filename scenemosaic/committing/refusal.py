"""One attempt to write that a store refused: what the audit log keeps of it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from scenemosaic.stores.port import Condition, IfAbsent, ObjectInfo


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was refused, and what stood there as far as it was read back.

    A composed object's digest stands for its SHA-256. ``own``: it was our own object, whose
    reply had been lost, or which an earlier try of the same task wrote. ``at`` is RFC 3339.
    """

    key: str
    condition: Literal["create", "replace"]
    request_id: str
    ours_sha256: str
    theirs_sha256: str | None
    theirs_etag: str | None
    theirs_version_id: str | None
    at: str
    own: bool = False

    def by(self, stored: ObjectInfo | None, *, own: bool) -> "Refusal":
        """The same with what was found to stand there."""
        if stored is None:
            return self
        return replace(
            self,
            theirs_sha256=checksum(stored.metadata),
            theirs_etag=stored.etag,
            theirs_version_id=stored.version_id,
            own=own,
        )


def refusal(
    key: str, condition: Condition, request_id: str, metadata: Mapping[str, str], at: str
) -> Refusal:
    """A refusal as answered, before anything is read back; ``metadata`` is ours."""
    kind: Literal["create", "replace"] = "create" if isinstance(condition, IfAbsent) else "replace"
    ours = checksum(metadata) or ""
    return Refusal(key, kind, request_id, ours, None, None, None, at)


def checksum(metadata: Mapping[str, str]) -> str | None:
    """The SHA-256 that an object of ours carries, or the digest of a composed one."""
    return metadata.get("sha256") or metadata.get("digest")
