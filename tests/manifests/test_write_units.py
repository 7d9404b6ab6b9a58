"""Rows are written no faster than a partition takes them."""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.errors import TransientStoreError
from scenemosaic.manifests.dynamodb import DynamoManifest
from scenemosaic.manifests.packing import size_bytes
from scenemosaic.manifests.write_units import FULL_PER_S, LEAST_PER_S, Bucket, Pace, units_of
from tests.manifests.support import row


@dataclass
class Clock:
    """Sleeping is what lets time pass."""

    now_s: float = 0.0
    slept: list[float] = field(default_factory=list)

    def time(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


def pace_of(clock: Clock) -> Pace:
    return Pace(clock.time, clock.sleep)


@given(st.lists(st.integers(1, 64), min_size=1, max_size=400))
def test_no_second_takes_more_than_its_units(rows: list[int]) -> None:
    clock, sent = Clock(), []
    pace = pace_of(clock)
    for units in rows:
        pace.take("job", units)
        sent.append((clock.now_s, units))
    for begin, _ in sent:
        within = sum(units for at_s, units in sent if begin <= at_s < begin + 1.0)
        # After a rest a second's units may go at once, and the last row is never cut.
        assert within <= 2 * FULL_PER_S + 64
    assert sum(rows) <= FULL_PER_S * (clock.now_s + 1.0) + 1e-6


def test_a_few_rows_never_wait_and_partitions_do_not_share() -> None:
    clock = Clock()
    pace = pace_of(clock)
    for partition in ("job", "job#1"):
        for _ in range(int(FULL_PER_S)):
            pace.take(partition, 1)
    assert clock.slept == []
    pace.take("job", 9)
    assert clock.slept == [9 / FULL_PER_S]


def test_a_throttled_partition_is_written_at_half_the_pace_for_a_while() -> None:
    clock = Clock()
    pace = pace_of(clock)
    pace.throttled("job")
    pace.take("job", 45)
    assert clock.slept == [45 / (FULL_PER_S / 2)]
    pace.take("other", 45)
    assert len(clock.slept) == 1
    clock.now_s += 10
    pace.take("job", 45)
    assert len(clock.slept) == 1


def test_the_pace_never_comes_to_a_halt() -> None:
    bucket = Bucket(0.0)
    for _ in range(50):
        bucket.slow_down()
    assert bucket.take(0.0, 3) == 3 / LEAST_PER_S
    assert bucket.take(1000.0, 3) == 0.0


def test_a_unit_is_a_kilobyte_begun() -> None:
    small, large = row(blocks=b""), row(blocks=b"x" * 5000)
    assert units_of(small) == 1
    assert units_of(large) == -(-size_bytes(large) // 1024) == 6


class Busy:
    """A client whose table takes no more."""

    def put_item(self, **_: Any) -> None:
        said = {"Error": {"Code": "ThrottlingException", "Message": "slower"}}
        raise ClientError({**said, "ResponseMetadata": {"HTTPStatusCode": 400}}, "PutItem")


def test_a_throttled_answer_slows_the_next_rows_of_its_partition() -> None:
    clock = Clock()
    manifest = DynamoManifest("t", "eu-west-1", clock.sleep, clock.time)
    manifest._opened = cast(Any, Busy())
    for _ in range(2):
        with pytest.raises(TransientStoreError):
            manifest.insert(row())
    assert clock.slept == [pytest.approx(2 / FULL_PER_S)]
