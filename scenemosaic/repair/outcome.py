"""What became of one window of a repair. Pure values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from scenemosaic.manifests.port import Row
from scenemosaic.stores.port import ObjectInfo

RepairOutcome = Literal["written", "superseded", "target-gone", "unchanged", "failed", "blocked"]
_TEXTS_AND_NUMBERS: Final = (
    *("window", "output_uri", "bytes", "sha256", "etag", "version_id"),
    *("revision", "written_by", "written_at", "waiver"),
)


@dataclass(frozen=True, slots=True)
class WindowRepair:
    """``unchanged``: the object was right; ``mended``: its row alone was not.

    ``blocked``: what stands there is nobody's to replace, and was left.
    ``detail`` says who won, why it failed, or what stands there.
    """

    window: str
    outcome: RepairOutcome
    mended: bool = False
    detail: str | None = None

    @property
    def changed(self) -> bool:
        return self.mended or self.outcome == "written"

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {"window": self.window, "outcome": self.outcome}
        if self.mended:
            value["row"] = "mended"
        return value if self.detail is None else value | {"detail": self.detail}


def same_version(one: ObjectInfo, other: ObjectInfo) -> bool:
    """Whether both are the same write of an object. An ETag alone can be a content hash."""
    return _identity(one) == _identity(other)


def _identity(info: ObjectInfo) -> tuple[str | None, ...]:
    return info.etag, info.version_id, info.metadata.get("write_id")


def describe_object(info: ObjectInfo | None) -> Mapping[str, Any] | None:
    """An object for the audit log."""
    if info is None:
        return None
    return {
        "bytes": info.size_bytes,
        "etag": info.etag,
        "version_id": info.version_id,
        "sha256": info.metadata.get("sha256"),
        "write_id": info.metadata.get("write_id"),
        "last_modified": info.last_modified,
    }


def describe_row(row: Row | None) -> Mapping[str, Any] | None:
    """A row for the audit log, with everything that is needed to write it again."""
    if row is None:
        return None
    value: dict[str, Any] = {name: getattr(row, name) for name in _TEXTS_AND_NUMBERS}
    value |= {"crc": list(row.crc), "software": dict(row.software)}
    return value | {"blocks": None if row.blocks is None else row.blocks.hex()}


def winner(info: ObjectInfo | None, row: Row | None) -> str:
    """Who was first, in words."""
    said = []
    if info is not None:
        by = info.metadata.get("write_id") or "a writer that is not this pipeline"
        version = f", version {info.version_id}" if info.version_id else ""
        said.append(f"the object is {by}'s (ETag {info.etag}{version})")
    else:
        said.append("the object is gone")
    if row is not None:
        said.append(f"its row is {row.written_by}'s (revision {row.revision}, {row.written_at})")
    return "; ".join(said)
