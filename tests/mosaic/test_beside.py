"""Work in another thread beside a block."""

import threading

import pytest

from scenemosaic.machine.parallel import beside

WAIT_S = 60.0


def test_both_run_at_once_and_the_work_is_done_at_the_end() -> None:
    here, there = threading.Event(), threading.Event()
    done: list[bool] = []

    def work() -> None:
        there.set()
        done.append(here.wait(WAIT_S))

    with beside(work):
        assert there.wait(WAIT_S)
        here.set()
    assert done == [True]


def test_what_the_work_raises_is_raised_at_the_end_of_the_block() -> None:
    reached: list[str] = []

    def work() -> None:
        raise ValueError("of the work")

    with pytest.raises(ValueError, match="of the work"), beside(work):
        reached.append("the end")
    assert reached == ["the end"]


def test_what_the_block_raises_comes_first_and_the_work_has_ended() -> None:
    ended = threading.Event()

    def work() -> None:
        ended.set()
        raise ValueError("of the work")

    with pytest.raises(RuntimeError, match="of the block"), beside(work):
        raise RuntimeError("of the block")
    assert ended.is_set()
