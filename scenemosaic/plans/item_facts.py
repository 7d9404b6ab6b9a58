"""What a STAC item says of a source, beside where it lies."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """One asset of an item. ``taken`` is RFC 3339 in UTC, the beginning where it is a span.

    ``checksum`` is a multihash in hexadecimal, as the item has it.
    """

    item_id: str
    taken: str | None = None
    is_span: bool = False
    checksum: str | None = None
    size_bytes: int | None = None

    @property
    def time_source(self) -> str:
        """How a plan names where ``taken`` comes from."""
        return f"{'item-start' if self.is_span else 'item'}:{self.item_id}"
