"""When a silent source is given up, and when it is asked again."""

from dataclasses import dataclass

import pytest

from scenemosaic.errors import SourceReadError
from scenemosaic.sources.silence import Silences

URL = "https://host/a.tif"


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Broken(Exception):
    pass


def attempt(silences: Silences, clock: Clock, takes_s: float, fails: bool = True) -> None:
    with silences.watched(URL, 60.0):
        clock.now += takes_s
        if fails:
            raise Broken


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def silences(clock: Clock) -> Silences:
    return Silences(clock=clock)


def test_two_in_a_row_are_enough(silences: Silences, clock: Clock) -> None:
    for _ in range(2):
        with pytest.raises(Broken):
            attempt(silences, clock, 60)
    with pytest.raises(SourceReadError, match=r"host/a\.tif: .* within 60 s, 2 times in a row"):
        attempt(silences, clock, 60)


@pytest.mark.parametrize(("takes_s", "fails"), [(59.9, True), (200, False)])
def test_an_answer_ends_the_row(
    silences: Silences, clock: Clock, takes_s: float, fails: bool
) -> None:
    """Also one that is an error, and one that took long."""
    with pytest.raises(Broken):
        attempt(silences, clock, 60)
    if fails:
        with pytest.raises(Broken):
            attempt(silences, clock, takes_s)
    else:
        attempt(silences, clock, takes_s, fails=False)
    with pytest.raises(Broken):
        attempt(silences, clock, 60)
    attempt(silences, clock, 0, fails=False)


def test_after_a_pause_one_is_let_through(silences: Silences, clock: Clock) -> None:
    for _ in range(2):
        with pytest.raises(Broken):
            attempt(silences, clock, 60)
    clock.now += silences.pause_s
    with silences.watched(URL, 60.0), pytest.raises(SourceReadError):
        attempt(silences, clock, 0)  # another one meanwhile
    attempt(silences, clock, 0, fails=False)


def test_local_files_and_other_sources_go_on(silences: Silences, clock: Clock) -> None:
    for _ in range(2):
        with pytest.raises(Broken):
            attempt(silences, clock, 60)
    for location in ("/a.tif", "https://host/b.tif"):
        with silences.watched(location, 60.0):
            pass
    with pytest.raises(SourceReadError), silences.watched(f"{URL}?sig=1", 60.0):
        pass  # another signature is the same source
