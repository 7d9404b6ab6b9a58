"""Progress of a running scene: counted cheaply, shown from a thread of its own."""

from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from flows.shown import watched
from flows.shown.live import Both, Live
from flows.shown.watched import Sampler
from scenemosaic.job import WindowOutcome
from scenemosaic.mosaic.progress import MAKING

JOB = "ab" * 16


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[UUID | None, float, str]]:
    """What Prefect was told: artifact (None where it was made), percent, text."""
    seen: list[tuple[UUID | None, float, str]] = []

    def create(percent: float, key: str, description: str) -> UUID:
        assert key == f"progress-{JOB}"
        seen.append((None, percent, description))
        return uuid4()

    monkeypatch.setattr(watched, "create_progress_artifact", create)
    monkeypatch.setattr(
        watched, "update_progress_artifact", lambda *given: seen.append(tuple(given))
    )
    return seen


def window(number: int, size_bytes: int = 1_000_000) -> WindowOutcome:
    return WindowOutcome(f"0000_{number:04d}", "written", size_bytes=size_bytes)


def test_windows_bytes_rate_and_what_is_left() -> None:
    clock = Clock()
    live = Live(clock)
    assert live.snapshot() is None
    live.stage("windows")
    live.windows(10, 2)
    clock.now_s += 4
    for number in range(4):
        live.window(window(number))
    now = live.snapshot()
    assert now is not None
    assert now.text == (
        "windows · 6 of 10 windows · 4.0 MB · 1.0 windows/s · 1.0 MB/s · 4.0 s left"
    )
    assert now.percent == pytest.approx(54)


def test_the_mosaic_is_the_last_tenth() -> None:
    live = Live(Clock())
    live.windows(2, 2)
    live.stage("assembly")
    live.copied(1_000_000, 4_000_000)
    now = live.snapshot()
    assert now is not None
    assert now.percent == pytest.approx(92.5)
    assert now.text.endswith("mosaic 1.0 MB of 4.0 MB")


def test_boxes_of_smaller_levels_are_counted_before_the_mosaic() -> None:
    live = Live(Clock())
    live.windows(2, 2)
    live.stage("assembly")
    live.copied(3, 21, MAKING)
    now = live.snapshot()
    assert now is not None
    assert now.percent == pytest.approx(90)
    assert now.text.endswith("making smaller levels, 3 of 21 boxes")


def test_one_artifact_is_made_and_then_moved_on(
    told: list[tuple[UUID | None, float, str]],
) -> None:
    live = Live(Clock())
    sampler = Sampler(live, JOB)
    sampler.look()
    assert told == []
    live.windows(4, 0)
    for number in range(4):
        live.window(window(number))
        sampler.look()
        sampler.look()  # nothing has changed
    assert [one[1] for one in told] == pytest.approx([22.5, 45, 67.5, 90])
    assert told[0][0] is None
    assert len({one[0] for one in told[1:]}) == 1


def test_an_api_that_is_away_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> UUID:
        raise httpx.ConnectError("gone")

    monkeypatch.setattr(watched, "create_progress_artifact", away)
    live = Live(Clock())
    live.windows(4, 0)
    sampler = Sampler(live, JOB)
    sampler.look()
    sampler.stop()
    sampler.run()


def test_both_are_told() -> None:
    one, other = Live(Clock()), Live(Clock())
    both = Both(one, other)
    both.stage("windows")
    both.windows(3, 1)
    both.window(window(0))
    both.copied(1, 2)
    assert one.snapshot() == other.snapshot()
    assert one.snapshot() is not None
