"""The product's conditional commit (scenemosaic/committing/commit.py), in simulated time."""

import itertools
from collections.abc import Callable, Generator

from bench.simulation.body import Body
from bench.simulation.kernel import Process
from bench.simulation.services import Answer, Creates
from scenemosaic.manifests.write_units import Bucket
from scenemosaic.waiting.retry import pause_s

_write_ids = itertools.count(1)
Send = Callable[[int, int], Answer]


class GaveUp(Exception):
    """The retry policy ran out: the batch fails, and is delivered again."""


def new_write_id() -> int:
    """One that nobody else has."""
    return next(_write_ids)


def commit(
    body: Body,
    send: Send,
    held: Creates,
    key: int,
    latency_s: float,
    *,
    pace: Bucket | None = None,
) -> Generator[float, None, bool]:
    """Create ``key``; whether it was ours. The same request again after what is ambiguous.

    A refusal is read back (of a tile, which has no ``pace``, by a request of its own), because
    it may be by our own write whose reply was lost. Raises Died, or GaveUp where attempts run out.
    """
    given, write_id = body.world.given, new_write_id()
    for failures in range(1, given.retry.attempts + 1):
        if pace is not None and given.paced:
            yield from body.spend(pace.take(body.world.clock.now, given.row_units))
        answer = yield from _request(body, send, key, write_id, latency_s)
        if answer is Answer.WRITTEN:
            return True
        if answer is Answer.REFUSED:
            if pace is None:
                yield from body.spend(body.world.latency_s(given.head_s))
            return _is_own(body, held, key, write_id)
        if answer is Answer.SLOW_DOWN and pace is not None:
            pace.slow_down()
        if failures < given.retry.attempts:
            body.world.counts["retries"] += 1
            chance = body.world.chance.random()
            yield from body.spend(pause_s(given.retry, failures, chance, None))
    body.world.counts["gave up"] += 1
    raise GaveUp


def _is_own(body: Body, held: Creates, key: int, write_id: int) -> bool:
    own = held.held[key] == write_id
    if own:
        body.world.counts["own write found"] += 1
    return own


def _request(
    body: Body, send: Send, key: int, write_id: int, latency_s: float
) -> Generator[float, None, Answer | None]:
    """The answer, or None where it was lost."""
    world, taken_s = body.world, body.world.latency_s(latency_s)
    yield from body.spend(taken_s / 2)
    if world.chance.random() >= world.given.lost:
        answer = send(key, write_id)
        yield from body.spend(taken_s / 2)
        return answer
    world.counts["replies lost"] += 1
    fate = world.chance.randrange(3)
    if fate == 1:
        send(key, write_id)
    elif fate == 2:
        late_s = world.chance.uniform(0, world.given.late_s)
        world.clock.start(_landing(send, key, write_id), late_s)
    yield from body.spend(world.given.timeout_s)
    return None


def _landing(send: Send, key: int, write_id: int) -> Process:
    send(key, write_id)
    yield from ()
