"""What was found: one scene's source, and what tells it from the one that stood there before."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """One scene. ``source`` is a canonical location, fit to be opened.

    ``version`` is an ETag, or size and time of a file, or an item's ``updated``. ``seen_at`` is
    when it came to where it was found, ``taken`` when the scene was taken where that is known;
    both RFC 3339 in UTC.
    """

    source: str
    version: str
    seen_at: str
    taken: str | None = None
