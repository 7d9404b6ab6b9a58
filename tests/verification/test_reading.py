"""Bytes that lie in several places are read as one."""

from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.verification.reading import gathered, joined

DATA = bytes(range(200))
EXTENTS = st.lists(st.tuples(st.integers(0, 99), st.integers(100, 200)), min_size=1, max_size=6)


@given(EXTENTS | st.just([(0, 10), (10, 20), (40, 50), (20, 40)]), st.data())
def test_extents_are_read_in_their_order(
    extents: list[tuple[int, int]], data: st.DataObject
) -> None:
    asked: list[tuple[int, int]] = []

    def read(offset: int, size_bytes: int) -> bytes:
        asked.append((offset, size_bytes))
        return DATA[offset : offset + size_bytes]

    expected = b"".join(DATA[start:end] for start, end in extents)
    assert gathered(read, extents) == expected
    assert len(asked) == 1  # all of them touch
    start = data.draw(st.integers(0, len(expected)))
    end = data.draw(st.integers(start, len(expected)))
    assert joined(read, extents)(start, end - start) == expected[start:end]


def test_what_lies_apart_is_read_apart() -> None:
    asked: list[tuple[int, int]] = []

    def read(offset: int, size_bytes: int) -> bytes:
        asked.append((offset, size_bytes))
        return DATA[offset : offset + size_bytes]

    assert gathered(read, [(90, 95), (5, 8), (8, 9)]) == DATA[90:95] + DATA[5:9]
    assert asked == [(5, 4), (90, 5)]
