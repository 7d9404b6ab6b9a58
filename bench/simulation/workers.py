"""Workers: a batch is delivered, its missing windows are computed and committed, in order."""

from collections import defaultdict

from bench.simulation.body import Body, Died
from bench.simulation.commits import GaveUp, commit
from bench.simulation.kernel import Process
from bench.simulation.services import World
from scenemosaic.manifests.write_units import Bucket


class Worker:
    """One machine. Its delivery comes again where it dies, or is silent for the lease."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._batch = -1
        self._paces: defaultdict[int, Bucket] = defaultdict(lambda: Bucket(world.clock.now))
        self._body = Body(world, self._stalled)

    def live(self) -> Process:
        """Work until the queue is empty; then wait to be woken by a delivery."""
        while self._world.queue:
            self._batch = self._world.queue.popleft()
            self._twice_by_chance()
            try:
                yield from self._carry_out()
            except Died:
                self._world.counts["deaths"] += 1
                self._again(self._lease_left_s())
                yield self._world.given.restart_s
                self._body.restart()
            except GaveUp:
                self._again(0.0)
        self._batch = -1
        self._world.idle.append(self.live())

    def _twice_by_chance(self) -> None:
        world, given = self._world, self._world.given
        is_first = self._batch not in world.delivered
        world.delivered.add(self._batch)
        if is_first and world.chance.random() < given.duplicates:
            world.counts["delivered twice"] += 1
            after_s = world.chance.uniform(0, given.duplicate_within_s)
            world.clock.start(world.deliver_again(self._batch), after_s)

    def _again(self, after_s: float) -> None:
        if self._batch >= 0:
            self._world.counts["delivered again"] += 1
            self._world.clock.start(self._world.deliver_again(self._batch), after_s)

    def _lease_left_s(self) -> float:
        """The last heartbeat is up to a third of the lease old."""
        return self._world.given.lease_s * (1 - self._world.chance.random() / 3)

    def _stalled(self, length_s: float) -> None:
        left_s = self._lease_left_s()
        if length_s > left_s:
            self._world.counts["leases lapsed"] += 1
            self._again(left_s)

    def _carry_out(self) -> Process:
        """What is in the manifest already is not done; then as scenemosaic/windows.py does."""
        world, body, given = self._world, self._body, self._world.given
        yield from body.spend(world.latency_s(given.ask_s))
        for window in world.missing(self._batch):
            took_s = given.window_s * world.chance.lognormvariate(0.0, given.window_sigma)
            world.computed_s += took_s
            yield from body.spend(took_s)
            won = yield from commit(body, world.put, world.tiles, window, given.put_s)
            world.useful_s += took_s if won else 0.0
            pace = self._paces[window // given.shard]
            yield from commit(body, world.insert, world.rows, window, given.row_s, pace=pace)
