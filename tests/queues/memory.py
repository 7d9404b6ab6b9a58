"""A queue in memory whose time is the test's: it delivers at least once, and counts."""

import itertools
import threading
from dataclasses import dataclass, field

from scenemosaic.queues.port import Message


@dataclass
class Kept:
    """One message as the queue holds it."""

    name: str
    body: str
    visible_at: float = 0.0
    deliveries: int = 0
    receipt: str = ""
    in_hand: bool = False


@dataclass
class MemoryQueue:
    """Every receive passes a second, and more where nothing came."""

    bodies: list[str]
    most: int = 3
    hidden_s: int = 15
    url: str = "memory://queue"
    now: float = 0.0
    kept: list[str] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._receipts = itertools.count()
        self.messages = [Kept(f"m{n}", body) for n, body in enumerate(self.bodies)]

    def clock(self) -> float:
        return self.now

    def receive(self, at_most: int, wait_s: int) -> list[Message]:
        """As a long poll does it: at once where something is there, else after a while."""
        with self._lock:
            self.now += 1
            found = self._visible() or self._later(wait_s)
            self._bury()
            found = [one for one in found if one in self.messages][:at_most]
            for one in found:
                one.visible_at, one.in_hand = self.now + self.hidden_s, True
                one.deliveries += 1
                one.receipt = f"r{next(self._receipts)}"
            return [Message(one.name, one.body, one.receipt, one.deliveries) for one in found]

    def _visible(self) -> list[Kept]:
        return [one for one in self.messages if one.visible_at <= self.now and not one.in_hand]

    def _later(self, wait_s: int) -> list[Kept]:
        # While something is in hand no time passes: how long that takes is not the test's.
        if not any(one.in_hand for one in self.messages):
            self.now += wait_s
        return self._visible()

    def settle(self, name: str) -> None:
        """The consumer let go of the message: its time goes on."""
        with self._lock:
            for one in self.messages:
                one.in_hand = one.in_hand and one.name != name

    def acknowledge(self, message: Message) -> None:
        with self._lock:
            self.acknowledged.append(message.message_id)
            self.messages = [one for one in self.messages if one.receipt != message.receipt]

    def keep(self, message: Message) -> None:
        with self._lock:
            self.kept.append(message.message_id)

    def close(self) -> None:
        pass

    def _bury(self) -> None:
        over = [one for one in self._visible() if one.deliveries >= self.most]
        self.dead += [one.body for one in over]
        self.messages = [one for one in self.messages if one not in over]
