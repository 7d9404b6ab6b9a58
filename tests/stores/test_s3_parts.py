"""The plan of parts, against S3's limits (which not every test server enforces)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.errors import InputError
from scenemosaic.stores.port import CopyRun, FileSlice, Literal, Segment
from scenemosaic.stores.s3_parts import (
    GATHER_BYTES,
    MAX_COPY_BYTES,
    MIN_PART_BYTES,
    CopyPart,
    Limits,
    UploadPart,
    plan_parts,
)

SMALL = Limits(min_part_bytes=5, max_copy_bytes=30, gather_bytes=16, max_parts=10_000)
SOURCE = bytes(range(256))


def bytes_of(segment: Segment) -> bytes:
    if isinstance(segment, Literal):
        return segment.data
    return SOURCE[segment.offset : segment.offset + segment.size_bytes]


# Sizes about the smallest part are where a plan goes wrong.
sizes = st.one_of(st.integers(0, 12), st.integers(0, 120))
spans = st.tuples(st.integers(0, 100), sizes)
segments = st.one_of(
    sizes.map(lambda size: Literal(SOURCE[:size])),
    spans.map(lambda span: CopyRun("t", "e", *span)),
    spans.map(lambda span: FileSlice("f", *span)),
)


@given(st.lists(segments, max_size=12))
def test_parts_hold_exactly_the_bytes_within_the_limits(wanted: list[Segment]) -> None:
    parts = plan_parts(wanted, SMALL)
    pieces = [
        piece
        for part in parts
        for piece in (part.pieces if isinstance(part, UploadPart) else (part.run,))
    ]
    assert b"".join(map(bytes_of, pieces)) == b"".join(map(bytes_of, wanted))
    for part in parts[:-1]:
        assert part.size_bytes >= SMALL.min_part_bytes
    for part in parts:
        assert part.size_bytes > 0
        copied = isinstance(part, CopyPart)
        assert part.size_bytes <= (SMALL.max_copy_bytes if copied else SMALL.gather_bytes)


@given(st.lists(st.integers(5, 200).map(lambda size: CopyRun("t", "e", 0, size)), max_size=9))
def test_runs_that_are_long_enough_never_pass_through_this_process(runs: list[CopyRun]) -> None:
    assert all(isinstance(part, CopyPart) for part in plan_parts(runs, SMALL))


@given(st.lists(st.integers(1, 200).map(lambda size: CopyRun("t", "e", 0, size)), max_size=9))
def test_a_run_lends_less_than_the_smallest_part(runs: list[CopyRun]) -> None:
    gathered = sum(
        part.size_bytes for part in plan_parts(runs, SMALL) if isinstance(part, UploadPart)
    )
    short = [run for run in runs if run.size_bytes < 5]
    whole = [run for run in runs if 5 <= run.size_bytes < 10]
    assert gathered <= sum(run.size_bytes for run in short + whole) + 5 * len(short)


def test_the_real_limits_are_those_of_s3() -> None:
    mib = 1 << 20
    run = CopyRun("tiles/a.tif", '"e"', 100, 11 * mib)
    head, copy, tail = plan_parts([Literal(b"head"), run, Literal(b"tail")])
    assert isinstance(head, UploadPart)
    assert head.size_bytes == MIN_PART_BYTES == 5 * mib
    assert head.pieces == (Literal(b"head"), CopyRun("tiles/a.tif", '"e"', 100, 5 * mib - 4))
    assert copy == CopyPart(CopyRun("tiles/a.tif", '"e"', 5 * mib + 96, 6 * mib + 4))
    assert tail == UploadPart((Literal(b"tail"),))
    assert 16 * mib == GATHER_BYTES


def test_a_run_above_5_gib_is_split_evenly() -> None:
    parts = plan_parts([CopyRun("t", "e", 7, MAX_COPY_BYTES + 1)])
    assert [part.size_bytes for part in parts] == [MAX_COPY_BYTES // 2, MAX_COPY_BYTES // 2 + 1]


def test_no_bytes_make_no_part() -> None:
    assert plan_parts([]) == plan_parts([Literal(b""), CopyRun("t", "e", 3, 0)]) == []


def test_too_many_parts_are_refused_with_their_number() -> None:
    runs = [CopyRun("t", "e", 0, MIN_PART_BYTES)] * 10_000
    assert len(plan_parts(runs)) == 10_000
    with pytest.raises(InputError, match=r"10001 parts.*10000.*larger windows"):
        plan_parts([*runs, Literal(b"x")])


@pytest.mark.parametrize("sizes", [{"gather_bytes": 9}, {"max_copy_bytes": 9}])
def test_limits_that_cannot_be_met_are_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(InputError, match="smallest part"):
        Limits(min_part_bytes=5, **sizes)
