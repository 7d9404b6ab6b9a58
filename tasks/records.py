"""What a worker process of an engine still has to tell Prefect before it ends."""

from typing import Any, Final

from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogWorker

_SENDERS: Final[tuple[Any, ...]] = (EventsWorker, APILogWorker)


async def hand_over(timeout_s: float) -> None:
    """Send the task runs' states and logs that wait in this process, for at most so long each."""
    for sender in _SENDERS:
        await sender.drain_all(timeout=timeout_s)


def elsewhere() -> None:
    """What stands for the flow in a worker process, which needs its name alone."""
