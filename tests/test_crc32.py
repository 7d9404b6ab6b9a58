"""One CRC-32, whichever library computes it."""

import random
import zlib

from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.crc32 import crc32, crc32_combine

LONG = 64 << 10
BYTES = random.Random(1).randbytes(3 * LONG)
LENGTHS = st.one_of(st.integers(0, 9), st.integers(LONG - 2, LONG + 2), st.integers(0, 3 * LONG))


@given(LENGTHS, LENGTHS, st.sampled_from((bytes, bytearray, memoryview)))
def test_it_is_that_of_zlib_in_any_number_of_parts(
    first: int, end: int, kind: type[bytes | bytearray | memoryview]
) -> None:
    data = BYTES[:end]
    here, behind = kind(data[:first]), kind(data[first:])
    assert crc32(behind, crc32(here)) == zlib.crc32(data)
    assert crc32_combine(crc32(here), crc32(behind), len(behind)) == zlib.crc32(data)
