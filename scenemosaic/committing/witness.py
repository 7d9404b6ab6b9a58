"""Who is told of commits, so that no commit has to think of the audit log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from scenemosaic.committing.outcome import Committed
from scenemosaic.committing.refusal import Refusal
from scenemosaic.stores.port import Condition
from scenemosaic.waiting.retry import Effects


class Witness(Protocol):
    """Told of each commit of an object; used from many threads at once."""

    def before(self, key: str, condition: Condition) -> None:
        """A commit is about to begin; what is raised here keeps it from being tried."""

    def after(self, done: Committed, condition: Condition) -> Committed:
        """What a commit came to; returned with what the witness counts."""

    def failed(self, refusals: Sequence[Refusal]) -> None:
        """A commit raised an error after these refusals."""


class _Nobody:
    def before(self, key: str, condition: Condition) -> None:
        pass

    def after(self, done: Committed, condition: Condition) -> Committed:
        return done

    def failed(self, refusals: Sequence[Refusal]) -> None:
        pass


NOBODY: Final[Witness] = _Nobody()


@dataclass(frozen=True, slots=True)
class Witnessed(Effects):
    """Effects with somebody who is told of the commits that are made with them."""

    witness: Witness = NOBODY


def witnessed(effects: Effects, witness: Witness) -> Witnessed:
    """The same effects, whose commits are told to ``witness``."""
    return Witnessed(effects.clock, effects.sleep, effects.random, effects.now, witness)


def witness_of(effects: Effects) -> Witness:
    """Who is told of commits."""
    return effects.witness if isinstance(effects, Witnessed) else NOBODY
