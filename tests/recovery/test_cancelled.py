"""Cancel in the middle: no half output, and a run again does what was missing."""

import pytest

from tests.recovery.conftest import Runner
from tests.recovery.gate import until, within
from tests.recovery.place import WINDOWS, Place, check_done
from tests.recovery.runs import (
    PROCESS,
    cancel,
    ended,
    flow_process,
    is_alive,
    read,
    start,
    state_of,
    written,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
BEFORE, MORE = 4, 4
STEP_S = 2.0


def test_cancelled(place: Place, prefect_server: str, runner: Runner) -> None:
    assert runner.pid
    place.gate.let(BEFORE)
    run_id = start(prefect_server, PROCESS, place.given())
    place.wait_for_rows(BEFORE)
    process = flow_process(runner.pid, run_id)
    cancel(prefect_server, run_id)
    # What it has in hand is done; what hangs is killed after 30 s.
    for _ in range(MORE):
        if within(STEP_S, lambda: not is_alive(process)):
            break
        place.gate.let(1)
    run = ended(prefect_server, run_id)
    assert state_of(run) == ("Cancelled", "CANCELLED")
    until("the end of its process", lambda: not is_alive(process))
    before, puts = place.windows(), place.tile_puts()
    assert BEFORE <= len(before) < WINDOWS
    assert not place.is_published()
    place.gate.open()
    again = ended(prefect_server, start(prefect_server, PROCESS, place.given()))
    assert state_of(again) == ("Mosaicked", "COMPLETED")
    assert written(again) <= WINDOWS - len(before)
    check_done(place, {again["id"]: written(again)})
    assert {name: place.tile_puts()[name] for name in before} == {n: puts[n] for n in before}
    assert state_of(read(prefect_server, run_id)) == ("Cancelled", "CANCELLED")
