"""What verification finds, and what a repair is conditional on. Pure values."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from scenemosaic.manifests.port import Row
from scenemosaic.stores.port import ObjectInfo


class Kind(enum.Enum):
    """What is wrong; the values are stable and stand in the JSON report."""

    MISSING_ROW = "missing-row"  # an object of ours without a row, or a window with neither
    MISSING_OBJECT = "missing-object"  # a row whose object is gone
    DELETE_MARKER = "delete-marker"  # gone behind a delete marker: older versions stand
    SIZE = "size"
    CHECKSUM = "checksum"  # the bytes are not those of the row's SHA-256
    ETAG = "etag"
    URI = "uri"  # the row is of another place
    VERSION = "version"
    BLOCKS = "blocks"  # the tile's directories are not what the row says
    METADATA = "metadata"  # the object's own metadata lacks or contradicts its checksum
    FOREIGN = "foreign-object"
    NOT_AN_OBJECT = "not-an-object"  # a folder, say, or a link out of the root
    UNREADABLE = "unreadable-object"  # by permissions or an archive tier: nothing is known of it
    BAD_ROW = "unreadable-row"  # it does not decode
    UNDECODABLE = "undecodable"  # --deep
    STRAY = "stray-object"  # an object that no row and no window of the plan explains
    STALE_MOSAIC = "stale-mosaic"  # built from other rows than those that stand now
    OLD_ITEM = "old-item"  # the mosaic's row tells of a newer revision
    PLAN = "plan"  # plan.json is gone, or is not what its job ID says


# The row is wrong and the object right, where nothing but these was found for a window.
ROW_KINDS = frozenset({Kind.MISSING_ROW, Kind.ETAG, Kind.VERSION, Kind.URI})

# Nothing stands there.
GONE = frozenset({Kind.MISSING_OBJECT, Kind.DELETE_MARKER})

# What stands at the key of a mosaic's revision stays: only the next revision helps.
DAMAGED = frozenset(
    {
        *(Kind.SIZE, Kind.CHECKSUM, Kind.BLOCKS, Kind.METADATA),
        *(Kind.FOREIGN, Kind.NOT_AN_OBJECT, Kind.UNDECODABLE, Kind.UNREADABLE),
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is off.

    ``subject`` is a window's name, ``mosaic``, ``item``, ``preview``, ``plan``, or the key of a
    stray object. ``detail`` says what stands and what was expected. ``of_row``: what the row
    says of the tile's inside is not so, which says nothing against it.
    """

    subject: str
    kind: Kind
    detail: str
    of_row: bool = False

    @property
    def blocks_repair(self) -> bool:
        """Whether no repair replaces what stands there, nor passes it: a person has to act."""
        if self.kind in (Kind.NOT_AN_OBJECT, Kind.UNREADABLE):
            return self.subject not in ("mosaic", "preview")  # these have revisions
        return self.kind is Kind.BAD_ROW or (self.kind, self.subject) == (Kind.FOREIGN, "item")

    def to_json(self) -> Mapping[str, str]:
        return {"subject": self.subject, "kind": self.kind.value, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class WindowState:
    """One window as inspected: the very version of row and object that a repair may replace."""

    number: int
    name: str
    row: Row | None
    info: ObjectInfo | None
    findings: tuple[Finding, ...] = field(default=())

    @property
    def is_blocked(self) -> bool:
        """Whether no repair can replace what stands there."""
        return any(one.blocks_repair for one in self.findings)

    @property
    def object_is_right(self) -> bool:
        """Whether the object is a sound tile of this window, whatever the row says."""
        if self.info is None:
            return False
        return all(one.kind in ROW_KINDS or one.of_row for one in self.findings)
