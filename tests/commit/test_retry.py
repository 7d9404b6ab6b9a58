"""Pauses and the loop for requests that may land twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenemosaic.errors import InputError, PermanentStoreError, TransientStoreError
from scenemosaic.waiting.retry import Pacer, RetryPolicy, pause_s, retrying, system_effects
from tests.faults.effects import FakeTime

POLICY = RetryPolicy(attempts=4, base_s=1.0, cap_s=3.0, deadline_s=60.0)


@given(st.integers(1, 5000), st.floats(0, 1, exclude_max=True))
def test_a_pause_is_below_its_doubling_cap(failures: int, chance: float) -> None:
    pause = pause_s(POLICY, failures, chance, None)
    assert 0 <= pause < min(POLICY.cap_s, 2.0 ** min(failures - 1, 10))
    assert pause_s(POLICY, failures, chance, 40.0) == 40.0


def test_success_after_failures() -> None:
    time, left = FakeTime(chance=0.5), [TransientStoreError("a"), TransientStoreError("b", 7.0)]

    def call() -> str:
        if left:
            raise left.pop(0)
        return "done"

    assert retrying(call, POLICY, time.effects()) == "done"
    assert time.sleeps == [0.5, 7.0]


def test_attempts_are_used_up() -> None:
    time, calls = FakeTime(), []

    def call() -> None:
        calls.append(1)
        raise TransientStoreError(f"failure {len(calls)}")

    with pytest.raises(TransientStoreError, match="failure 4"):
        retrying(call, POLICY, time.effects())
    assert time.sleeps == [1.0, 2.0, 3.0]


def test_only_transient_errors_are_tried_again() -> None:
    time, calls = FakeTime(), []

    def call() -> None:
        calls.append(1)
        raise PermanentStoreError("403")

    with pytest.raises(PermanentStoreError):
        retrying(call, POLICY, time.effects())
    assert (len(calls), time.sleeps) == (1, [])


def test_the_deadline_counts_what_the_calls_take() -> None:
    time = FakeTime()
    pacer = Pacer(POLICY, time.effects())
    time.now_s = 59.5
    assert not pacer.again()
    time.now_s = 58.5
    assert Pacer(POLICY, time.effects()).again()


@pytest.mark.parametrize("wrong", [{"attempts": 0}, {"base_s": -1.0}, {"deadline_s": -0.1}])
def test_a_policy_without_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        RetryPolicy(**wrong)  # type: ignore[arg-type]


def test_the_system_has_time_and_chance() -> None:
    effects = system_effects()
    assert effects.clock() <= effects.clock()
    assert 0 <= effects.random() < 1
