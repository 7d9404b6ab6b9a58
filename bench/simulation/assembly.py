"""Many runs want to assemble one mosaic: their claims (scenemosaic/claiming), simulated."""

from dataclasses import dataclass

from bench.simulation.body import Body, Died
from bench.simulation.commits import new_write_id
from bench.simulation.kernel import Process
from bench.simulation.services import World
from scenemosaic.claiming.gate import POLL_BASE_S, POLL_CAP_S


@dataclass
class Claim:
    """The row that is compared and swapped: a new token for each taking and renewal."""

    token: int = 0


class Assembler:
    """One run: it takes the claim, waits, or takes it over from a holder that is silent."""

    def __init__(self, world: World, claim: Claim) -> None:
        self._world, self._claim = world, claim
        self._body = Body(world)

    def live(self) -> Process:
        """Until the mosaic stands; a run that dies is started again."""
        while not self._world.mosaic_at_s:
            try:
                yield from self._turns()
            except Died:
                self._world.counts["assemblers died"] += 1
                yield self._world.given.restart_s
                self._body.restart()

    def _turns(self) -> Process:
        world, seen, since_s, polls = self._world, -1, 0.0, 0
        while not world.mosaic_at_s:
            yield from self._body.spend(world.latency_s(world.given.row_s))
            token = self._claim.token
            if token != seen:
                seen, since_s = token, world.clock.now
            left_s = world.given.claim_lease_s - (world.clock.now - since_s)
            if token == 0 or left_s <= 0:
                yield from self._hold(taken_over=token != 0)
                continue
            yield from self._body.spend(min(self._pause_s(polls), left_s))
            polls += 1

    def _pause_s(self, polls: int) -> float:
        ceiling = min(POLL_CAP_S, POLL_BASE_S * 2.0 ** min(polls, 10))
        return ceiling * (0.5 + self._world.chance.random() / 2)

    def _hold(self, *, taken_over: bool) -> Process:
        given, counts = self._world.given, self._world.counts
        if taken_over:
            counts["claims taken over"] += 1
        counts["assemblies begun"] += 1
        left_s, mine = given.assembly_s, self._renew()
        while left_s > 0:
            slice_s = min(left_s, given.claim_lease_s / 3)
            yield from self._body.spend(slice_s)
            left_s -= slice_s
            if left_s > 0 and self._claim.token != mine:
                counts["claims lost"] += 1
                return
            mine = self._renew() if left_s > 0 else mine
        self._complete()

    def _renew(self) -> int:
        self._claim.token = new_write_id()
        return self._claim.token

    def _complete(self) -> None:
        """The conditional completion is right, whoever holds the claim."""
        if self._world.mosaic_at_s:
            self._world.counts["completions refused"] += 1
        else:
            self._world.mosaic_at_s = self._world.clock.now
