"""Progress: a bar on a terminal; elsewhere few lines, however many windows there are."""

import io

import pytest

from flows.terminal.progress import Meter, Progress, in_bytes, in_seconds
from scenemosaic.job import WindowOutcome
from scenemosaic.mosaic.progress import MAKING


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def lines_of(windows: int, seconds_each: float) -> list[str]:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, False, clock)
    progress.windows(windows, 0)
    for number in range(windows):
        clock.now += seconds_each
        progress.window(WindowOutcome(f"0000_{number:04d}", "written", 1000))
    progress.close()
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("seconds_each", [0.001, 0.1, 1.0, 60.0])
def test_plain_lines_are_few(seconds_each: float) -> None:
    lines = lines_of(2000, seconds_each)
    assert len(lines) <= 1 + 20 + 1
    assert len(lines) <= 2 + 2000 * seconds_each + 1
    assert lines[0] == "2000 windows"
    assert lines[-1] == "  100% 2000 of 2000 windows · 2.0 MB · 0.0 s left"


def test_plain_lines_hold_no_escape() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, False, clock)
    progress.stage("plan")
    progress.copied(0, 10)
    progress.copied(10, 10)
    progress.close()
    assert "\r" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
    assert "plan" not in stream.getvalue()


def test_smaller_levels_that_take_long_are_counted() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, False, clock)
    progress.windows(1, 0)
    clock.now += 2
    progress.window(WindowOutcome("0000_0000", "written", 1000))
    progress.stage("assembly")
    for done in range(22):
        progress.copied(done, 21, MAKING)
        clock.now += 4
    progress.copied(0, 10)
    lines = stream.getvalue().splitlines()
    assert lines[2] == "   10% making smaller levels: 2 of 21 boxes"
    assert lines[-2:] == ["   95% making smaller levels: 20 of 21 boxes", "mosaic of 10 B"]


def test_smaller_levels_of_a_short_job_say_nothing() -> None:
    stream = io.StringIO()
    progress = Progress(stream, False, Clock())
    for done in range(22):
        progress.copied(done, 21, MAKING)
    progress.copied(0, 10)
    assert stream.getvalue() == "mosaic of 10 B\n"


def test_a_bar_is_redrawn_in_place_and_then_left() -> None:
    clock, stream = Clock(), io.StringIO()
    meter = Meter(stream, True, clock)
    for share in (0.25, 0.5, 1.0):
        clock.now += 1
        meter.update(share, f"{share}")
    meter.close()
    drawn = stream.getvalue().split("\r\x1b[2K")[1:]
    assert [line.split()[1] for line in drawn] == ["25%", "50%", "100%"]
    assert drawn[-1].endswith("\n")


def test_a_bar_is_not_redrawn_too_often() -> None:
    clock, stream = Clock(), io.StringIO()
    meter = Meter(stream, True, clock)
    for step in range(1000):
        clock.now += 0.001
        meter.update(step / 1000, "")
    assert stream.getvalue().count("\r") <= 10


def test_a_hint_is_on_a_terminal_alone_and_leaves_nothing() -> None:
    clock, terminal, plain = Clock(), io.StringIO(), io.StringIO()
    for stream, is_terminal in ((terminal, True), (plain, False)):
        meter = Meter(stream, is_terminal, clock)
        meter.hint("plan …")
        meter.close()
    assert terminal.getvalue() == "\r\x1b[2Kplan …\r\x1b[2K"
    assert plain.getvalue() == ""


def test_a_failed_window_is_a_line_of_its_own() -> None:
    stream = io.StringIO()
    progress = Progress(stream, False, Clock())
    progress.windows(2, 0)
    progress.window(WindowOutcome("0000_0001", "failed", error="scene.tif is truncated"))
    assert "window 0000_0001 failed: scene.tif is truncated" in stream.getvalue()


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345_678, "12.3 MB"), (5e15, "5000.0 TB")],
)
def test_bytes(size: float, text: str) -> None:
    assert in_bytes(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.44, "0.4 s"), (12.4, "12 s"), (185, "3 min 05 s")]
)
def test_seconds(seconds: float, text: str) -> None:
    assert in_seconds(seconds) == text
