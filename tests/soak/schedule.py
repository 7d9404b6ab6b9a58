"""What happens when, from a seed: which scenes come, which flows run, what dies. Pure."""

import enum
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final


class Verb(enum.Enum):
    """What happens; the values stand in the report."""

    ARRIVE = "a scene comes"
    INGEST = "ingest"
    BACKFILL = "backfill"
    DAMAGE = "damage"
    REPAIR = "repair"
    KILL_FLOW = "flow process"
    KILL_WORKER = "worker"
    KILL_MACHINE = "worker and all its flows"
    KILL_SERVER = "Prefect server"
    KILL_STORE = "store"


@dataclass(frozen=True, slots=True)
class Event:
    """``chance`` (0 to 1) decides what is left open; what dies stays ``away_s`` away."""

    at_s: float
    verb: Verb
    place: str = ""
    chance: float = 0.0
    away_s: float = 0.0


# Seconds between two of a kind, for each place.
EVERY_S: Final = {
    Verb.ARRIVE: 60.0,
    Verb.INGEST: 60.0,
    Verb.BACKFILL: 80.0,
    Verb.DAMAGE: 45.0,
    Verb.REPAIR: 55.0,
}
KILL_EVERY_S: Final = 24.0
# Dealt like cards, so that each kind has its share of even a short soak.
DECK: Final = (
    *[Verb.KILL_FLOW] * 5,
    *[Verb.KILL_WORKER] * 2,
    *[Verb.KILL_STORE] * 2,
    Verb.KILL_MACHINE,
    Verb.KILL_SERVER,
)
AWAY_S: Final = {
    Verb.KILL_WORKER: (0.0, 15.0),
    Verb.KILL_MACHINE: (0.0, 15.0),
    Verb.KILL_SERVER: (2.0, 30.0),
    Verb.KILL_STORE: (0.5, 20.0),
}
JITTER: Final = 0.4
FIRST_KILL_S: Final = 30.0


def schedule(seed: int, length_s: float, places: Sequence[str]) -> list[Event]:
    """All events of a soak, in order; the same ones for the same arguments."""
    chance = random.Random(seed)
    found = list(_kills(chance, length_s))
    for place in places:
        # One scene is there before anything starts.
        found.append(Event(0.0, Verb.ARRIVE, place, chance.random()))
        for verb, every_s in EVERY_S.items():
            times = _times(chance, chance.uniform(0.1, 0.9) * every_s, every_s, length_s)
            found += [Event(at_s, verb, place, chance.random()) for at_s in times]
    return sorted(found, key=lambda event: event.at_s)


def _kills(chance: random.Random, length_s: float) -> Iterator[Event]:
    deck: list[Verb] = []
    for at_s in _times(chance, FIRST_KILL_S, KILL_EVERY_S, length_s):
        if not deck:
            deck = chance.sample(DECK, len(DECK))
        verb = deck.pop()
        away_s = chance.uniform(*AWAY_S.get(verb, (0.0, 0.0)))
        yield Event(at_s, verb, "", chance.random(), away_s)


def _times(
    chance: random.Random, first_s: float, every_s: float, length_s: float
) -> Iterator[float]:
    at_s = first_s
    while at_s < length_s:
        yield at_s
        at_s += every_s * chance.uniform(1 - JITTER, 1 + JITTER)
