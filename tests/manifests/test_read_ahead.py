"""Readings in turn: their order, what is held of them, and their end."""

import threading
from collections.abc import Iterator

import pytest

from scenemosaic.machine.read_ahead import in_turn

WAIT_S = 60.0


def test_the_next_ones_are_read_while_the_first_is_taken() -> None:
    begun = threading.Barrier(3)

    def reading(number: int) -> Iterator[tuple[int, int]]:
        begun.wait(WAIT_S)
        yield from ((number, item) for item in range(10))

    found = list(in_turn(map(reading, range(3)), at_once=3, ahead=2))
    assert found == [(number, item) for number in range(3) for item in range(10)]


def test_no_more_is_held_than_was_said() -> None:
    made = [0] * 50
    lock = threading.Lock()

    def reading(number: int) -> Iterator[int]:
        for _ in range(10):
            with lock:
                made[number] += 1
            yield number

    most = 0
    for taken, _ in enumerate(in_turn(map(reading, range(50)), at_once=4, ahead=3)):
        with lock:
            most = max(most, sum(made) - taken)
    assert made == [10] * 50
    assert most <= 4 * 3 + 1  # and the one that was just taken


def test_a_fault_comes_in_its_place_and_ends_the_rest() -> None:
    def faulty() -> Iterator[int]:
        yield from (10, 11)
        raise ValueError("of the second one")

    turn = in_turn(iter([iter(range(5)), faulty(), iter(range(1000))]), at_once=3, ahead=2)
    assert [next(turn) for _ in range(7)] == [*range(5), 10, 11]
    with pytest.raises(ValueError, match="of the second one"):
        next(turn)
    assert not left_over()


def left_over() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("read-ahead")]


def test_whoever_stops_early_leaves_no_thread() -> None:
    turn = in_turn((iter(range(1000)) for _ in range(10)), at_once=3, ahead=2)
    assert next(turn) == 0
    turn.close()  # type: ignore[attr-defined]
    assert not left_over()


def test_nothing_is_read_of_no_readings() -> None:
    assert list(in_turn([], at_once=3, ahead=2)) == []
