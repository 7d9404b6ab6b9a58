"""The schedule: the same for a seed, in order, and with a share of every kind."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.soak.schedule import DECK, EVERY_S, JITTER, KILL_EVERY_S, Verb, schedule

PLACES = ("one", "other")
KILLS = frozenset(DECK)


@given(st.integers(), st.floats(600, 7200))
def test_every_kind_dies_and_every_flow_runs(seed: int, length_s: float) -> None:
    events = schedule(seed, length_s, PLACES)
    assert events == schedule(seed, length_s, PLACES)
    assert [one.at_s for one in events] == sorted(one.at_s for one in events)
    assert all(0 <= one.at_s < length_s and 0 <= one.chance < 1 for one in events)
    kills = Counter(one.verb for one in events if one.verb in KILLS)
    assert kills.keys() == KILLS
    assert kills.total() >= length_s / (KILL_EVERY_S * (1 + JITTER)) - 2
    for place in PLACES:
        there = Counter(one.verb for one in events if one.place == place)
        assert there.keys() == EVERY_S.keys()
        first = next(one for one in events if one.place == place)
        assert (first.verb, first.at_s) == (Verb.ARRIVE, 0)


def test_seeds_differ() -> None:
    assert len({tuple(schedule(seed, 600, PLACES)) for seed in range(20)}) == 20
