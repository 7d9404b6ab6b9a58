"""What it takes to change objects and to record that: less than a job's session, no manifest."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

from scenemosaic.committing.history import Looks
from scenemosaic.committing.witness import Witness, witnessed
from scenemosaic.stores.port import Store
from scenemosaic.waiting.retry import Effects, RetryPolicy, now_rfc3339, system_effects


class AnySession(Protocol):
    """An open store with the rules of trying again; a job's :class:`Session` is one, too."""

    @property
    def store(self) -> Store: ...
    @property
    def policy(self) -> RetryPolicy: ...
    @property
    def effects(self) -> Effects: ...
    @property
    def now(self) -> Callable[[], str]: ...
    @property
    def looks(self) -> Looks: ...

    def witnessed(self, witness: Witness) -> Self:
        """The same session, whose commits are told to ``witness``."""


@dataclass(frozen=True, slots=True)
class StoreSession:
    """A store alone, for what no job stands behind; the caller closes it."""

    store: Store
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    effects: Effects = field(default_factory=system_effects)
    now: Callable[[], str] = now_rfc3339
    looks: Looks = field(default_factory=Looks, repr=False, compare=False)

    def witnessed(self, witness: Witness) -> "StoreSession":
        """The same session, whose commits are told to ``witness``."""
        return replace(self, effects=witnessed(self.effects, witness))
