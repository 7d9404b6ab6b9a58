"""Takes messages from a queue, several at once, and acknowledges what is dealt with."""

import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from typing import Final

from scenemosaic.discovery.found import Found
from scenemosaic.discovery.notifications import scenes_in
from scenemosaic.errors import InputError, SceneMosaicError, StoreError
from scenemosaic.queues.heartbeat import Heartbeat
from scenemosaic.queues.port import Message, Queue
from scenemosaic.queues.verdict import Delivery, Fate, SceneFate, fate_of, is_dealt_with
from scenemosaic.sources.locations import public_uri

# Carries one scene out. Called from many threads; raises the project's own errors.
CarryOut = Callable[[Found], SceneFate]
POLL_S: Final = 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listening:
    """For how long messages are taken, and how many are in hand at once.

    ``stop_when_empty``: as soon as nothing came for ``poll_s``, and nothing is in hand.
    """

    for_s: float
    at_once: int = 4
    stop_when_empty: bool = False
    poll_s: int = POLL_S

    def __post_init__(self) -> None:
        if self.for_s < 0 or self.at_once < 1 or not 0 <= self.poll_s <= POLL_S:
            raise InputError(f"a consumer cannot listen like this: {self}")


@dataclass(frozen=True, slots=True)
class Consumer:
    """Deals with messages; ``told`` hears of every delivery, from many threads."""

    queue: Queue
    carry_out: CarryOut
    told: Callable[[Delivery], None] = lambda delivery: None
    clock: Callable[[], float] = time.monotonic

    def consume(self, listening: Listening) -> None:
        """Take messages until the time is over; what is in hand then is brought to its end.

        Raises StoreError where the queue cannot be asked.
        """
        end, running = self.clock() + listening.for_s, set[Future[None]]()
        with Heartbeat(self.queue) as heart, ThreadPoolExecutor(listening.at_once) as pool:
            while (left_s := end - self.clock()) > 0:
                running = _in_hand(running, fewer_than=listening.at_once)
                poll_s = min(listening.poll_s, math.ceil(left_s))
                messages = self.queue.receive(listening.at_once - len(running), poll_s)
                for message in messages:
                    # With a context of its own, by which a log line finds its run.
                    context = copy_context()
                    running.add(pool.submit(context.run, self._deal_with, message, heart))
                if not messages and listening.stop_when_empty:
                    if not running:
                        return
                    running = _in_hand(running, fewer_than=1)
            _in_hand(running, fewer_than=1)

    def _deal_with(self, message: Message, heart: Heartbeat) -> None:
        with heart.keeping(message):
            scenes = self._scenes(message)
            acknowledged, detail = is_dealt_with(scenes), ""
            if acknowledged:
                try:
                    self.queue.acknowledge(message)
                except StoreError as error:
                    acknowledged, detail = False, str(error)
        self._tell(
            Delivery(message.message_id, message.deliveries, tuple(scenes), acknowledged, detail)
        )

    def _scenes(self, message: Message) -> Sequence[SceneFate]:
        try:
            found = scenes_in(message.body)
        except InputError as error:
            return [SceneFate("", Fate.REFUSED, str(error))]
        return [self._fate(one) for one in found]

    def _fate(self, found: Found) -> SceneFate:
        try:
            return self.carry_out(found)
        except SceneMosaicError as error:
            return SceneFate(public_uri(found.source), fate_of(error), str(error))

    def _tell(self, delivery: Delivery) -> None:
        if not delivery.acknowledged:
            reasons = [scene.detail for scene in delivery.scenes] + [delivery.detail]
            said = "; ".join(reason for reason in reasons if reason)
            _log.warning(
                "message %s is left to the queue (delivery %d): %s",
                *(delivery.message_id, delivery.count, said),
            )
        self.told(delivery)


def _in_hand(running: set[Future[None]], fewer_than: int) -> set[Future[None]]:
    """Those that still run, once they are few enough; raises what is no error of the project's."""
    while True:
        ended = {one for one in running if one.done()}
        for one in ended:
            one.result()
        running = running - ended
        if len(running) < fewer_than:
            return running
        wait(running, return_when=FIRST_COMPLETED)
