"""What a STAC item says of a source, compared with what was pinned."""

import hashlib
from typing import Final

from scenemosaic.errors import InputError
from scenemosaic.plans.item_facts import ItemFacts, multihash
from scenemosaic.plans.pin import Pin
from scenemosaic.sources.byte_ranges import range_reader

# A source on a server that is no larger than this is read whole, to prove its checksum.
MAX_HASHED_BYTES: Final = 16 << 20
_PIECE_BYTES: Final = 4 << 20
_SHA256: Final = 0x12
_NAMES: Final = {0x11: "sha1", 0x13: "sha2-512", 0x16: "sha3-256", 0x1E: "blake3", 0xD5: "md5"}


def check_facts(facts: ItemFacts, pin: Pin, location: str) -> list[str]:
    """Compare size and checksum with the pinned source; notes on what was not compared.

    Raises InputError where they differ: the item describes something else.
    """
    if facts.size_bytes is not None and facts.size_bytes != pin.size_bytes:
        raise _differs(facts, "file:size", f"{facts.size_bytes} bytes", f"{pin.size_bytes}")
    found = None if facts.checksum is None else multihash(facts.checksum)
    if found is None:
        return []
    if found[0] != _SHA256:
        kind = _NAMES.get(found[0], f"of kind {found[0]:#x}")
        return [f"its item's file:checksum is {kind}, and only sha2-256 is compared"]
    actual = pin.sha256 or _hashed(pin, location)
    if actual is None:
        return [
            f"its item's file:checksum is not compared: {pin.size_bytes / 2**20:.0f} MiB would "
            "be read for it; the pin is the server's ETag"
        ]
    if actual != found[1]:
        raise _differs(facts, "file:checksum", f"SHA-256 {found[1]}", actual)
    return []


def _hashed(pin: Pin, location: str) -> str | None:
    if pin.size_bytes > MAX_HASHED_BYTES:
        return None
    digest, read_at = hashlib.sha256(), range_reader(location, pin.size_bytes)
    for offset in range(0, pin.size_bytes, _PIECE_BYTES):
        digest.update(read_at(offset, min(_PIECE_BYTES, pin.size_bytes - offset)))
    return digest.hexdigest()


def _differs(facts: ItemFacts, field: str, said: str, actual: str) -> InputError:
    return InputError(
        f"item {facts.item_id:.200} says {said} ({field}), and the source has {actual}: it is "
        "damaged, or was replaced since; fetch it again, or give the source itself"
    )
