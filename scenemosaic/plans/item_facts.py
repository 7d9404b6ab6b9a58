"""What a STAC item says of a source, beside where it lies."""

from dataclasses import dataclass
from typing import Final

from scenemosaic.errors import InputError

MULTIHASH: Final = "a multihash in hexadecimal, as text"


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """One asset of an item. ``taken`` is RFC 3339 in UTC, the beginning where it is a span.

    ``checksum`` is a multihash in hexadecimal, as the item has it: InputError where it is none.
    """

    item_id: str
    taken: str | None = None
    is_span: bool = False
    checksum: str | None = None
    size_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.checksum is not None and multihash(self.checksum) is None:
            raise InputError(
                f'its file:checksum is "{self.checksum:.200}", not {MULTIHASH}: mend the item, or '
                "give the source itself"
            )

    @property
    def time_source(self) -> str:
        """How a plan names where ``taken`` comes from."""
        return f"{'item-start' if self.is_span else 'item'}:{self.item_id}"


def multihash(text: str) -> tuple[int, str] | None:
    """(code of the function, digest in hexadecimal), or None where the text is no multihash."""
    try:
        data = bytes.fromhex(text)
        code, at = _varint(data, 0)
        length, at = _varint(data, at)
    except (ValueError, IndexError):
        return None
    digest = data[at:]
    return (code, digest.hex()) if digest and len(digest) == length else None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
