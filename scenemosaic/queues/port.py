"""The queue port: what is received is hidden from others for a while, not taken away."""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """One delivery. ``receipt`` is this delivery's alone; ``deliveries`` counts them, from 1."""

    message_id: str
    body: str = field(repr=False)
    receipt: str = field(repr=False)
    deliveries: int = 1


class Queue(Protocol):
    """Safe for threads."""

    url: str
    hidden_s: int  # for how long a delivery is hidden from others

    def receive(self, at_most: int, wait_s: int) -> list[Message]:
        """Up to 10 messages; none after ``wait_s`` (0 to 20) in which none came."""

    def acknowledge(self, message: Message) -> None:
        """The message is dealt with, and is never delivered again where the receipt still holds."""

    def keep(self, message: Message) -> None:
        """Hide it for another ``hidden_s``, counted from now; nothing where it is gone."""

    def close(self) -> None:
        """Free what the adapter holds open."""
