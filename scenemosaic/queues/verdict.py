"""What becomes of a message, decided from what became of the scenes that it announced. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from scenemosaic.errors import (
    ConflictError,
    IncompleteError,
    InputError,
    SceneMosaicError,
    StoreError,
)


class Fate(StrEnum):
    """What became of one scene, or of a message that could not be read as news of one."""

    DONE = "done"
    PRESENT = "already-there"
    CONFLICT = "conflict"
    REFUSED = "bad-input"
    INCOMPLETE = "incomplete"
    FAULT = "fault"


# A conflict is for a person, and so is nothing that a queue could deliver better next time.
DEALT_WITH = frozenset({Fate.DONE, Fate.PRESENT, Fate.CONFLICT})


@dataclass(frozen=True, slots=True)
class SceneFate:
    """One scene of a message; ``source`` is empty where the message itself was none."""

    source: str
    fate: Fate
    detail: str = ""
    job_id: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery of a message. What is not acknowledged comes again, or is moved by the queue.

    ``detail`` says why an acknowledgement failed, where it did.
    """

    message_id: str
    count: int
    scenes: tuple[SceneFate, ...]
    acknowledged: bool
    detail: str = ""


def fate_of(error: SceneMosaicError) -> Fate:
    """What an error means for the scene that met it."""
    kinds: tuple[tuple[type[SceneMosaicError], Fate], ...] = (
        (ConflictError, Fate.CONFLICT),
        (InputError, Fate.REFUSED),
        (IncompleteError, Fate.INCOMPLETE),
        (StoreError, Fate.FAULT),
    )
    return next((fate for kind, fate in kinds if isinstance(error, kind)), Fate.FAULT)


def is_dealt_with(scenes: Iterable[SceneFate]) -> bool:
    """Whether the message is acknowledged: also where it was news of no scene."""
    return all(scene.fate in DEALT_WITH for scene in scenes)
