"""Interleavings by seed: the same seed, the same story."""

import random
from collections.abc import Callable
from typing import Any

from tests.faults.model.job import ENCODERS
from tests.faults.model.world import DEATHS, FAULTS, Fate, World

CHANCES = [Fate.DELIVER] * 24 + list(FAULTS) * 2 + list(DEATHS)
RUNS = ("a", "b", "c", "d")
PARTS = (None, None, (0, 1, 2, 3), (2, 3), (3, 0))
MOST_AT_ONCE, MOST = 4, 9
# Unclaimed, as small mosaics are; claimed; and claimed with multipart uploads.
WAYS: tuple[Callable[[World], None] | None, ...] = (None, World.claim, World.go_through_s3)


def explore(
    seed: int, steps: int = 120, wrap: Callable[[Any, Any], tuple[Any, Any]] | None = None
) -> int:
    """One story of ``steps`` steps, then quiet. Returns the steps; raises Violation."""
    with World(wrap) as world:
        _tell(world, seed, steps)
        return world.steps


def story(seed: int, steps: int = 120) -> list[str]:
    """What happened, in order."""
    with World() as world:
        _tell(world, seed, steps)
        return world.history


def _tell(world: World, seed: int, steps: int) -> None:
    chance = random.Random(seed)
    most_at_once = chance.randint(1, MOST_AT_ONCE)
    if way := WAYS[seed // 2 % len(WAYS)]:
        way(world)
    if seed % 2:
        world.tiles_first()
    for _ in range(steps):
        _turn(world, chance, most_at_once)
    world.settle()


def _turn(world: World, chance: random.Random, most_at_once: int) -> None:
    waiting = world.waiting
    may_start = len(waiting) < most_at_once and len(world.workers) < MOST
    if may_start and (not waiting or chance.random() < 0.1):
        world.start(chance.choice(RUNS), chance.choice(PARTS), chance.choice(ENCODERS))
    elif world.in_flight and chance.random() < 0.1:
        world.land(chance.randrange(len(world.in_flight)))
    elif waiting:
        world.step(chance.choice(waiting), chance.choice(CHANCES))
