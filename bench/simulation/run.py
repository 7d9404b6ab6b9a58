"""One simulation from its parameters to its figures."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.simulation.assembly import Assembler, Claim
from bench.simulation.parameters import Parameters
from bench.simulation.services import World
from bench.simulation.workers import Worker
from flows.engines.batches import split


@dataclass(frozen=True, slots=True)
class Result:
    """What a simulation came to; a count that is left out of ``counts`` is 0."""

    tiles: int
    rows: int
    rows_at_s: float
    mosaic_at_s: float
    useful_s: float
    computed_s: float
    ideal_s: float
    counts: Mapping[str, int]

    @property
    def wasted_share(self) -> float:
        """Compute that came to no tile, of all compute; a window that a death cut counts whole."""
        return 1 - self.useful_s / self.computed_s


def simulate(given: Parameters) -> Result:
    """Everything until nothing is left to happen; the same for the same parameters."""
    world, claim = World(given), Claim()
    batches = range((given.windows - 1) // given.batch + 1)
    dealt = split(range(given.windows), given.batch)
    world.queue.extend(batches if given.in_order else (one[0] // given.batch for one in dealt))
    world.at_last_row += [Assembler(world, claim).live() for _ in range(given.assemblers)]
    for _ in range(given.workers):
        world.clock.start(Worker(world).live())
    world.clock.run()
    return Result(
        tiles=len(world.tiles.held),
        rows=len(world.rows.held),
        rows_at_s=world.rows_at_s,
        mosaic_at_s=world.mosaic_at_s,
        useful_s=world.useful_s,
        computed_s=world.computed_s,
        ideal_s=world.useful_s / given.workers,
        counts=dict(world.counts),
    )
