"""The comparison of runs with their rows, however they are cut. Pure."""

import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.errors import IncompleteError
from scenemosaic.stores.pieces import RunCheck, Seen, gather, in_chunks
from scenemosaic.stores.port import CopyRun, Literal, Segment

DATA = bytes(range(251)) * 4

runs = st.tuples(st.integers(0, 500), st.integers(0, 300)).map(
    lambda span: CopyRun("t", "e", *span, zlib.crc32(DATA[span[0] : sum(span)]))
)
segments = st.lists(st.one_of(runs, st.binary(max_size=50).map(Literal)), max_size=8)


def _read(run: CopyRun) -> bytes:
    return DATA[run.offset : run.offset + run.size_bytes]


def compare(wanted: list[Segment], chunk_bytes: int, read: Callable[[CopyRun], bytes]) -> None:
    check = RunCheck(wanted)
    for pieces in in_chunks(wanted, chunk_bytes):
        check.saw(gather(pieces, read).seen)


@given(segments, st.integers(1, 200))
def test_sound_runs_pass_in_any_pieces(wanted: list[Segment], chunk_bytes: int) -> None:
    compare(wanted, chunk_bytes, _read)


@given(segments, runs.filter(lambda run: run.size_bytes > 0), segments, st.integers(1, 200))
def test_one_other_byte_is_seen_where_its_run_ends(
    before: list[Segment], run: CopyRun, after: list[Segment], chunk_bytes: int
) -> None:
    damaged = CopyRun("damaged", "e", run.offset, run.size_bytes, run.crc)

    def read(piece: CopyRun) -> bytes:
        data = _read(piece)
        last = piece.offset + piece.size_bytes == run.offset + run.size_bytes
        return data[:-1] + bytes([data[-1] ^ 1]) if piece.key == "damaged" and last else data

    wanted = [*before, damaged, *after]
    with pytest.raises(IncompleteError, match="damaged holds other bytes"):
        compare(wanted, chunk_bytes, read)


def test_bytes_that_a_run_brings_are_not_read_and_compared_all_the_same() -> None:
    def read(run: CopyRun) -> bytes:
        raise AssertionError("read again")

    sound = CopyRun("t", "e", 0, len(DATA), zlib.crc32(DATA), memoryview(DATA))
    compare([sound, Literal(b"z"), sound], 100, read)
    other = replace(sound, data=memoryview(DATA[::-1]))
    with pytest.raises(IncompleteError, match="t holds other bytes"):
        compare([other], 100, read)
    short = replace(sound, data=memoryview(DATA)[:-1])
    with pytest.raises(IncompleteError, match="ends early"):
        gather([short], read)


def test_what_nobody_saw_is_not_judged() -> None:
    run = CopyRun("t", "e", 0, 10, crc=1)
    RunCheck([run]).saw([Seen(4, 99), Seen(6)])
    RunCheck([CopyRun("t", "e", 0, 10)]).saw([Seen(10, 99)])
    with pytest.raises(IncompleteError):
        RunCheck([run]).saw([Seen(10, 99)])
