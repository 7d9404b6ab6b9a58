"""Invariants 4 and 5 under random interleavings of workers and faults: the state machine."""

import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.faults.model.checks import Violation
from tests.faults.model.directed import STORIES
from tests.faults.model.explore import CHANCES, MOST_AT_ONCE, PARTS, RUNS, WAYS, explore, story
from tests.faults.model.job import ENCODERS
from tests.faults.model.mutants import MUTANTS
from tests.faults.model.world import Fate, World
from tests.lengths import length

# In full, what the design promises.
STEPS, SOUND_STORIES = length(3_000, 10_000), length(80, 200)
seen: Counter[str] = Counter()


class Machine(RuleBasedStateMachine):
    """A rule is one step: a worker starts, a call meets its fate, a delayed request lands."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.world.__enter__()

    def teardown(self) -> None:
        try:
            self.world.settle()
        finally:
            self.world.__exit__(None, None, None)

    @initialize(way=st.sampled_from(range(len(WAYS))), tiles_first=st.booleans())
    def begin(self, way: int, tiles_first: bool) -> None:
        if chosen := WAYS[way]:
            chosen(self.world)
        if tiles_first:
            self.world.tiles_first()

    @precondition(lambda self: len(self.world.waiting) < MOST_AT_ONCE)
    @rule(run=st.sampled_from(RUNS), part=st.sampled_from(PARTS), by=st.sampled_from(ENCODERS))
    def start(self, run: str, part: tuple[int, ...] | None, by: int) -> None:
        seen["START"] += 1
        self.world.start(run, part, by)

    @precondition(lambda self: self.world.waiting)
    @rule(whose=st.integers(0, MOST_AT_ONCE - 1), fate=st.sampled_from(CHANCES))
    def step(self, whose: int, fate: Fate) -> None:
        seen[fate.name] += 1
        waiting = self.world.waiting
        self.world.step(waiting[whose % len(waiting)], fate)

    @precondition(lambda self: self.world.in_flight)
    @rule(which=st.integers(0, 3))
    def land(self, which: int) -> None:
        seen["LAND"] += 1
        self.world.land(which)


def machine_settings(stories: int) -> settings:
    return settings(
        max_examples=stories,
        stateful_step_count=100,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.slow
def test_the_invariants_hold_for_thousands_of_steps() -> None:
    seen.clear()
    run_state_machine_as_test(Machine, settings=machine_settings(STEPS // 68))
    assert seen.total() >= STEPS
    expected = {"START", "LAND", *(fate.name for fate in Fate)}
    assert {name for name, count in seen.items() if count >= STEPS // 100} == expected


def test_the_machine_notices_a_mistake() -> None:
    found, mistake = MUTANTS["an_own_write_is_reported_as_already_present"]
    with mistake(), pytest.raises(Violation, match=found):
        run_state_machine_as_test(
            Machine, settings=settings(machine_settings(100), phases=[Phase.generate])
        )


def test_seeded_stories_hold() -> None:
    """Stories by chance, each as its seed tells it."""
    steps = sum(explore(seed) for seed in range(SOUND_STORIES))
    assert steps >= 60 * SOUND_STORIES


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_in_the_procedure_is_found(name: str) -> None:
    """In a story that is told for it, and in which nothing is found without it."""
    found, mistake = MUTANTS[name]
    with World() as world:
        STORIES[name](world)
    with (
        pytest.raises(Violation) as violation,
        mistake() as wrap,
        World(wrap) as world,
    ):
        STORIES[name](world)
    assert re.search(found, _without_story(violation.value))


def _without_story(violation: Violation) -> str:
    return str(violation).partition("\nworker 0 starts")[0]


def test_the_same_seed_tells_the_same_story() -> None:
    assert [story(7), story(8)] == [story(7), story(8)]
