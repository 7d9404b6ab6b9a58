"""CRC-32 as in zlib, by whichever library is fastest at the length that is asked for."""

from typing import Final, cast

from isal import isal_zlib

# libdeflate folds twice as many bytes at a time as ISA-L where a processor has no AVX-512, but a
# call through imagecodecs costs a microsecond more.
_LONG_BYTES: Final = 64 << 10


def crc32(data: bytes | bytearray | memoryview, before: int = 0) -> int:
    """The CRC-32 of what ``before`` is the CRC-32 of, and ``data`` behind it.

    Other threads run meanwhile where there is much of it.
    """
    if len(data) < _LONG_BYTES:
        return isal_zlib.crc32(data, before)
    return _of_long(data, before)


def crc32_combine(first: int, second: int, second_bytes: int) -> int:
    """The CRC-32 of two parts one behind the other, of which the second has so many bytes."""
    return isal_zlib.crc32_combine(first, second, second_bytes)


def _of_long(data: bytes | bytearray | memoryview, before: int) -> int:
    # Only now: its import takes longer than a command that reads no pixels.
    import imagecodecs

    # It takes memoryviews, too, whatever its stub says.
    return imagecodecs.deflate_crc32(cast("bytes", data), before)
