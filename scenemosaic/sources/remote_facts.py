"""What a server says of a source, whichever protocol it speaks."""

from dataclasses import dataclass
from datetime import datetime

from scenemosaic.moments import rfc3339


@dataclass(frozen=True, slots=True)
class Facts:
    """What identifies a remote object; ``last_modified`` is RFC 3339 in UTC."""

    size_bytes: int
    etag: str | None
    version_id: str | None
    last_modified: str | None


def said_at(moment: datetime | None) -> str | None:
    """A moment as pins hold it: in UTC, to the second; None where nothing was said."""
    return None if moment is None else rfc3339(moment)
