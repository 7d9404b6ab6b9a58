"""Ctrl-C and SIGTERM: what is said at once, and how ``serve`` ends the runs that it has in hand."""

import asyncio
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from flows.server import ending
from flows.terminal import stopping
from scenemosaic.machine import in_hand


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """What handles both signals is put back."""
    before = [(number, signal.getsignal(number)) for number in stopping.NAMES]
    yield
    for number, handler in before:
        signal.signal(number, handler)


def test_windows_are_in_hand_until_each_is_done() -> None:
    said = [in_hand.said() for _ in in_hand.windows(iter([7, 8]))]
    assert said == ["2 windows", "1 window"]
    with pytest.raises(ZeroDivisionError):
        sum(1 // (number - 1) for number in in_hand.windows([1, 2, 3]))
    assert in_hand.said() is None
    with in_hand.scene():
        assert [in_hand.said() for _ in in_hand.windows([1])] == ["1 scene"]


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")]
)
def test_what_is_in_hand_is_said_at_once(
    capfd: pytest.CaptureFixture[str], number: signal.Signals, name: str
) -> None:
    stopping.end_in_order()
    windows = in_hand.windows([1, 2, 3])
    next(windows)
    with pytest.raises(stopping.Stopped) as caught:
        os.kill(os.getpid(), number)
    assert list(windows) == [2, 3]
    line = f"scenemosaic: finishing 3 windows in hand; {name} again ends now\n"
    assert capfd.readouterr().err == line
    assert caught.value.exit_code == 128 + number


def test_nothing_in_hand_is_no_line(capfd: pytest.CaptureFixture[str]) -> None:
    stopping.end_in_order()
    with pytest.raises(stopping.Stopped):
        os.kill(os.getpid(), signal.SIGINT)
    assert not capfd.readouterr().err


@dataclass
class Served:
    """Of Prefect's runner what ``serve`` uses; a run ends as it is cancelled, or only if killed."""

    held: set[UUID]
    stubborn: bool = False
    away: bool = False
    signals: int = 1
    started: bool = False
    did: list[str] = field(default_factory=list)
    kept_from_runs: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._stopped = asyncio.Event()
        self._killed = asyncio.Event()
        self._scheduled_run_poller = SimpleNamespace(
            _submitting_flow_run_ids=self.held, stopping=False
        )
        self._process_manager = SimpleNamespace(get=lambda _: self, kill=self._kill)

    async def start(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # as Prefect's takes it
        await asyncio.sleep(0.01)
        self.started = True
        self.kept_from_runs = set(signal.pthread_sigmask(signal.SIG_BLOCK, []))
        os.kill(os.getpid(), signal.SIGTERM if self.signals == 1 else signal.SIGINT)
        await self._stopped.wait()

    async def _cancel_run(self, run_id: UUID, why: str) -> None:
        assert self._scheduled_run_poller.stopping
        if self.away:
            raise httpx.ConnectError("refused")
        if self.stubborn:
            os.kill(os.getpid(), signal.SIGINT)
            await self._killed.wait()
        self.did.append(why)
        self.held.discard(run_id)

    async def _kill(self, run_id: UUID) -> None:
        self.did.append("ended")
        self.held.discard(run_id)

    def hard_kill(self) -> None:
        self.did.append("killed")
        self._killed.set()

    async def astop(self) -> None:
        assert not self.held
        self.did.append("stopped")
        self._stopped.set()


def ended(served: Served) -> tuple[list[str], list[str]]:
    """What was done, and what was said."""
    said: list[str] = []
    runner: Any = served
    asyncio.run(asyncio.wait_for(ending.serve(runner, said.append), 60))
    return served.did, said


def test_serve_cancels_its_runs_and_says_so() -> None:
    served = Served({uuid4(), uuid4()})
    did, (said,) = ended(served)
    assert did == [ending.WHY, ending.WHY, "stopped"]
    assert said.startswith("ending 2 runs as Cancelled: ")
    assert said.endswith("SIGTERM again ends now")
    assert signal.SIGINT in served.kept_from_runs
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_serve_without_runs_says_nothing() -> None:
    assert ended(Served(set())) == (["stopped"], [])


def test_a_second_ctrl_c_kills_and_prefect_is_told_still() -> None:
    did, (said,) = ended(Served({uuid4()}, stubborn=True, signals=2))
    assert did == ["killed", ending.WHY, "stopped"]
    assert said.endswith("Ctrl-C again ends now")


def test_runs_are_ended_where_prefect_is_away() -> None:
    did, (_, said) = ended(Served({uuid4()}, away=True))
    assert did == ["ended", "stopped"]
    assert "Prefect's API does not answer" in said
