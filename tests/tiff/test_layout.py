"""Runs and layout as pure arithmetic, files beyond 4 GiB included."""

import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.tiff import ifd
from scenemosaic.tiff.ifd import BadTiff, Tag
from scenemosaic.tiff.layout import Level, LevelShape, Placed, Template, plan_file, shifted_geo
from scenemosaic.tiff.runs import (
    BARE,
    FRAMED,
    Packed,
    block_offsets,
    join,
    pack,
    row_bytes,
    run_bytes,
    unpack,
)

blocks = st.lists(st.one_of(st.none(), st.binary(min_size=4, max_size=40)), max_size=12)
size_lists = st.lists(
    st.lists(st.integers(0, 2**32 - 1), max_size=20).map(lambda v: np.array(v, np.uint32)),
    min_size=1,
    max_size=4,
)


frames = st.sampled_from([BARE, FRAMED])


@given(blocks, st.integers(0, 2**40), frames)
def test_every_block_lies_where_its_offset_says(
    made: list[bytes | None], start: int, frame_bytes: int
) -> None:
    run = join(made, frame_bytes)
    data = b"".join(run.pieces)
    assert len(data) == run_bytes(run.sizes, frame_bytes) == run.size_bytes
    assert zlib.crc32(data) == run.crc
    offsets = block_offsets(run.sizes, start, frame_bytes)
    for block, offset in zip(made, offsets.tolist(), strict=True):
        if block is None:
            assert offset == 0
            continue
        at = offset - start
        assert data[at : at + len(block)] == block
        if frame_bytes == BARE:
            continue
        assert struct.unpack("<I", data[at - 4 : at]) == (len(block),)
        assert data[at + len(block) : at + len(block) + 4] == block[-4:]


@given(blocks)
def test_bare_blocks_are_neighbours_of_which_a_reader_can_ask_together(
    made: list[bytes | None],
) -> None:
    run = join(made, BARE)
    stored = run.sizes > 0
    offsets, sizes = block_offsets(run.sizes, 100, BARE)[stored], run.sizes[stored]
    assert (offsets[1:] == offsets[:-1] + sizes[:-1]).all()


@given(blocks, st.integers(1, 4), frames)
def test_block_rows_have_a_checksum_each(
    made: list[bytes | None], across: int, frame_bytes: int
) -> None:
    made = made[: len(made) // across * across]
    run = join(made, frame_bytes, across)
    assert run.crc == join(made, frame_bytes).crc == zlib.crc32(b"".join(run.pieces))
    assert len(run.row_crcs) == len(made) // across
    left = b"".join(run.pieces)
    lengths = row_bytes(run.sizes, across, frame_bytes).tolist()
    for crc, length in zip(run.row_crcs, lengths, strict=True):
        assert crc == zlib.crc32(left[:length])
        left = left[length:]
    assert not left


crcs = st.integers(0, 2**32 - 1)
row_crc_lists = st.none() | st.lists(crcs, max_size=9).map(lambda v: np.array(v, np.uint32))


@given(size_lists, st.none() | crcs, row_crc_lists)
def test_sizes_pack_and_unpack(levels: list[Any], header_crc: int | None, row_crcs: Any) -> None:
    packed = pack(Packed(tuple(levels), header_crc, row_crcs))
    counts = [level.size for level in levels]
    unpacked = unpack(packed, counts)
    assert all(np.array_equal(a, b) for a, b in zip(levels, unpacked.sizes, strict=True))
    assert unpacked.header_crc == header_crc
    assert (unpacked.row_crcs is None) == (row_crcs is None)
    assert row_crcs is None or np.array_equal(unpacked.row_crcs, row_crcs)
    with pytest.raises(BadTiff):
        unpack(packed, [*counts, 1])


@given(st.sampled_from([b"\x01", b"\x02", b"\x03", b""]), st.binary(max_size=60))
def test_rubbish_sizes_are_refused(version: bytes, rubbish: bytes) -> None:
    with pytest.raises(BadTiff):
        unpack(version + rubbish, [10_000])


TEMPLATE = Template(
    {
        ifd.SAMPLES_PER_PIXEL: Tag.of(ifd.SHORT, [1]),
        ifd.PLANAR_CONFIG: Tag.of(ifd.SHORT, [1]),
        ifd.TILE_WIDTH: Tag.of(ifd.SHORT, [512]),
        ifd.PIXEL_SCALE: Tag.of(ifd.DOUBLE, [10.0, 20.0, 0.0]),
        ifd.TIE_POINT: Tag.of(ifd.DOUBLE, [0.0, 0.0, 0.0, 100.0, 900.0, 0.0]),
    },
    None,
)


def _level(block_bytes: int, side: int, frame_bytes: int = BARE) -> Level:
    shape = LevelShape(512 * side, 512 * side, 512, 1, False, frame_bytes)
    one = LevelShape(512, 512, 512, 1, False, frame_bytes)
    size = np.array([block_bytes], np.uint32)
    return Level(shape, [Placed(i // side, i % side, one, size) for i in range(side * side)])


@given(st.integers(1, 2**31), st.integers(1, 6), frames)
def test_bigtiff_is_chosen_from_the_exact_size(
    block_bytes: int, side: int, frame_bytes: int
) -> None:
    layout = plan_file(TEMPLATE, [_level(block_bytes, side, frame_bytes)], shift=(0, 0))
    (directory,) = ifd.parse(layout.header)
    offsets = directory[ifd.TILE_OFFSETS].values()
    assert layout.size_bytes == len(layout.header) + side * side * (block_bytes + frame_bytes)
    assert layout.size_bytes == int(offsets[-1]) + block_bytes + frame_bytes // 2
    assert int(offsets[0]) == len(layout.header) + frame_bytes // 2
    assert layout.big == (layout.size_bytes > 2**32 - 1)
    assert layout.big == (layout.header[2] == 43)


@pytest.mark.parametrize("frame_bytes", [BARE, FRAMED])
def test_leaders_are_claimed_only_where_there_are_any(frame_bytes: int) -> None:
    header = plan_file(TEMPLATE, [_level(50, 2, frame_bytes)], shift=(0, 0)).header
    assert (b"BLOCK_LEADER" in header) == (b"BLOCK_TRAILER" in header) == (frame_bytes == FRAMED)
    assert b"LAYOUT=IFDS_BEFORE_DATA\n" in header
    assert b"BLOCK_ORDER" not in header


def test_every_directory_stands_in_front_of_the_block_arrays() -> None:
    levels = [_level(50, side) for side in (100, 50, 25)]
    header = plan_file(TEMPLATE, levels, shift=(0, 0)).header
    assert len(header) > 100_000
    front = bytearray(header[:2000].ljust(len(header), b"\xff"))
    seen = ifd.parse(bytes(front))
    for directory, whole in zip(seen, ifd.parse(header), strict=True):
        unlike = {code for code, tag in whole.items() if directory[code] != tag}
        assert unlike == {ifd.TILE_OFFSETS, ifd.TILE_BYTE_COUNTS}


def test_levels_lie_smallest_first() -> None:
    layout = plan_file(TEMPLATE, [_level(50, 2), _level(30, 1)], shift=(0, 0))
    main, overview = ifd.parse(layout.header)
    assert max(overview[ifd.TILE_OFFSETS].values()) < min(main[ifd.TILE_OFFSETS].values())
    assert overview[ifd.NEW_SUBFILE_TYPE].values() == (1,)
    assert ifd.TIE_POINT not in overview


def test_geo_tags_move_with_the_window_and_stay_exact_at_the_origin() -> None:
    assert shifted_geo(TEMPLATE.main, (0, 0)) == {}
    moved = shifted_geo(TEMPLATE.main, (3, 5))
    assert moved[ifd.TIE_POINT].values() == (0.0, 0.0, 0.0, 130.0, 800.0, 0.0)
    matrix = [1.0, 2.0, 0.0, 7.0, 3.0, -4.0, 0.0, 9.0, *[0.0] * 7, 1.0]
    rotated = shifted_geo({ifd.TRANSFORMATION: Tag.of(ifd.DOUBLE, matrix)}, (2, 1))
    assert rotated[ifd.TRANSFORMATION].values()[3] == 7.0 + 2 * 1.0 + 1 * 2.0
    assert rotated[ifd.TRANSFORMATION].values()[7] == 9.0 + 2 * 3.0 + 1 * -4.0
