"""A repair races a live write: the newer survives. Two publishers race: the pointer is right."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

from scenemosaic import job
from scenemosaic.errors import IncompleteError
from scenemosaic.repair import replacing
from scenemosaic.repair.engine import repair_windows
from scenemosaic.session import Run
from scenemosaic.tile import EncodedTile
from scenemosaic.verification.verify import verify
from tests.lengths import length
from tests.repair.conftest import MakeJob
from tests.repair.made import Made
from tests.repair.writing import other_bytes, write_live

ROUNDS = length(40, 100)
NAME = "0001_0001"


@contextmanager
def hooked(owner: Any, name: str, before: Callable[[], None]) -> Iterator[None]:
    """``before()`` is called each time that a step of the repair begins."""
    real = getattr(owner, name)

    def step(*arguments: Any, **named: Any) -> Any:
        before()
        return real(*arguments, **named)

    with mock.patch.object(owner, name, step):
        yield


class Rounds:
    """One damaged window a round, its repair, and a writer that starts after the inspection."""

    def __init__(self, made: Made) -> None:
        self.made = made
        self.newer: EncodedTile = other_bytes(made, NAME)
        self.outcomes: Counter[str] = Counter()

    def play(self, number: int) -> None:
        """Every fourth round the writer is first, every fourth it comes between PUT and row."""
        self.made.damage(self.made.tile_key(NAME))
        inspected, writer = threading.Event(), Run(f"writer-{number}", "writer")
        with ThreadPoolExecutor(1) as pool:
            written = pool.submit(self._write, inspected, writer, number % 4 != 1)

            def first() -> None:
                inspected.set()
                if number % 4 == 0:
                    written.result(60)

            def between() -> None:
                if number % 4 == 1:
                    write_live(self.made, NAME, self.newer, writer)

            with (
                hooked(replacing.Target, "_moved_on", first),
                hooked(replacing, "settle_row", between),
            ):
                self._repair(number)
            written.result(60)
        self._newer_survived(writer)

    def _write(self, inspected: threading.Event, writer: Run, alone: bool) -> None:
        """Two live writers would write over each other's rows: each round has one."""
        assert inspected.wait(60)
        if alone:
            write_live(self.made, NAME, self.newer, writer)

    def _repair(self, number: int) -> None:
        me, numbers = Run(f"repair-{number}", "repair"), [self.made.number(NAME)]
        batch = repair_windows(self.made.spec, numbers, me, named=False)
        self.outcomes.update(one.outcome for one in batch.outcomes)

    def _newer_survived(self, writer: Run) -> None:
        stored = self.made.stored(self.made.tile_key(NAME))
        assert stored.metadata["write_id"].startswith(f"{writer.run_id}/")
        assert self.made.read(self.made.tile_key(NAME)) == self.newer.data
        self.made.row_describes(NAME)


def test_the_newer_write_survives(done: Made) -> None:
    rounds = Rounds(done)
    for number in range(ROUNDS):
        rounds.play(number)
    assert sum(rounds.outcomes.values()) == ROUNDS
    assert set(rounds.outcomes) <= {"written", "superseded"}
    assert rounds.outcomes["superseded"] >= ROUNDS // 2, "two of four orders are forced"
    assert done.repair(NAME).exit_code == 0
    assert verify(done.spec).findings == ()


def test_of_two_repairs_of_one_window_one_writes(done: Made) -> None:
    for number in range(10):
        done.damage(done.tile_key(NAME))
        gate = threading.Barrier(2)
        runs = [Run(f"run-{number}-{one}", "run") for one in "ab"]

        def together(run: Run, gate: threading.Barrier = gate) -> str:
            gate.wait(60)
            (one,) = repair_windows(done.spec, [done.number(NAME)], run, named=True).outcomes
            return one.outcome

        with ThreadPoolExecutor(2) as pool:
            outcomes = Counter(pool.map(together, runs))
        assert outcomes["written"] == 1
        assert set(outcomes) <= {"written", "superseded", "unchanged"}
        assert done.repair().exit_code == 0
        done.row_describes(NAME)
    assert verify(done.spec).findings == ()


@pytest.mark.parametrize("make_place", ["local"], indirect=True)
def test_two_that_publish_at_once_leave_the_pointer_at_the_newest_rows(make_job: MakeJob) -> None:
    made = make_job()
    names = ["0000_0001", "0002_0001"]
    tiles = {name: [other_bytes(made, name), made.tile(name)] for name in names}

    def change(name: str, number: int) -> None:
        run = Run(f"{name}-{number}", "run")
        write_live(made, name, tiles[name][number % 2], run)
        end = time.monotonic() + 120
        while True:
            try:
                job.assemble(made.spec, run)
                return
            except IncompleteError:  # the other one's tile stands, and its row does not yet
                assert time.monotonic() < end, "it never converged"

    for number in range(20):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(change, names, [number, number]))
        assert verify(made.spec).findings == ()
    assert made.item()["properties"]["scenemosaic:revision"] >= 20
