"""The plan of parts, against S3's limits (which not every test server enforces)."""

from dataclasses import replace

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
    in_stages,
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


FEW = Limits(min_part_bytes=5, max_copy_bytes=60, gather_bytes=16, max_parts=4)


@given(st.lists(segments, max_size=40))
def test_stages_hold_the_same_bytes_in_order(wanted: list[Segment]) -> None:
    stages = list(in_stages(wanted, FEW))
    assert [segment for stage in stages for segment in stage] == wanted
    fits = len(plan_parts(wanted, replace(FEW, max_parts=10_000))) <= FEW.max_parts
    assert not fits or all(len(stage) == 1 for stage in stages)
    for stage in stages:
        if len(stage) > 1:
            assert all(isinstance(segment, CopyRun) for segment in stage)
            # One part of the whole, made of no more parts than there may be.
            size_bytes = sum(segment.size_bytes for segment in stage)
            assert FEW.min_part_bytes <= size_bytes <= FEW.max_copy_bytes
            assert len(plan_parts(stage, FEW)) <= FEW.max_parts


def test_a_hundred_thousand_runs_fit_in_two_stages() -> None:
    runs = [CopyRun(f"tiles/{n}.tif", "e", 0, 8 << 20) for n in range(100_000)]
    with pytest.raises(InputError, match="100001 parts"):
        plan_parts([Literal(b"header" * (1 << 20)), *runs])
    stages = list(in_stages([Literal(b"header" * (1 << 20)), *runs]))
    assert len(stages) < 200
    assert max(map(len, stages)) == MAX_COPY_BYTES // (8 << 20)


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
