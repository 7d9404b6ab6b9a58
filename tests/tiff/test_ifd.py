"""TIFF directories: what is written reads back, and rubbish is refused by name."""

import io

import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.tiff import ifd
from scenemosaic.tiff.ifd import BadTiff, Tag

tags = st.one_of(
    st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=9).map(lambda v: Tag.of(ifd.SHORT, v)),
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=9).map(lambda v: Tag.of(ifd.LONG, v)),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=5).map(
        lambda v: Tag.of(ifd.DOUBLE, v)
    ),
    st.binary(min_size=1, max_size=30).map(lambda v: Tag(2, len(v), v)),
)
directories = st.dictionaries(st.integers(1, 65535), tags, min_size=1, max_size=12)


def _file(made: list[dict[int, Tag]], big: bool) -> bytes:
    header = ifd.file_header(big=big, framed=False)
    chain = ifd.write(made, len(header), big=big)
    assert len(chain) == sum(ifd.directory_bytes(directory, big=big) for directory in made)
    return header + chain


@given(st.lists(directories, min_size=1, max_size=4), st.booleans())
def test_directories_read_back(made: list[dict[int, Tag]], big: bool) -> None:
    assert ifd.parse(_file(made, big)) == made


@given(st.lists(directories, min_size=1, max_size=3), st.booleans(), st.data())
def test_a_cut_file_is_refused(made: list[dict[int, Tag]], big: bool, data: st.DataObject) -> None:
    whole = _file(made, big)
    cut = whole[: data.draw(st.integers(0, len(whole) - 9))]
    with pytest.raises(BadTiff):
        ifd.parse(cut)


@given(st.binary(max_size=200))
def test_rubbish_is_refused_or_read_but_never_crashes(rubbish: bytes) -> None:
    for start in (b"", b"II*\0\x08\0\0\0", b"II+\0\x08\0\0\0\x10" + bytes(7)):
        try:
            ifd.parse(start + rubbish)
        except BadTiff:
            continue


def test_a_loop_of_directories_is_refused() -> None:
    data = bytearray(_file([{256: Tag.of(ifd.LONG, [1])}], big=False))
    first = int.from_bytes(data[4:8], "little")
    data[first + 14 : first + 18] = data[4:8]
    with pytest.raises(BadTiff, match="loop"):
        ifd.parse(bytes(data))


@pytest.mark.parametrize("big", [False, True])
def test_another_reader_agrees(big: bool) -> None:
    stream = io.BytesIO()
    with tifffile.TiffWriter(stream, bigtiff=big, byteorder="<") as writer:
        writer.write(np.zeros((64, 64), np.uint16), tile=(32, 32))
    (directory,) = ifd.parse(stream.getvalue())
    assert directory[ifd.IMAGE_WIDTH].values() == (64,)
    assert directory[ifd.TILE_WIDTH].values() == (32,)
    assert directory[ifd.TILE_OFFSETS].count == 4
