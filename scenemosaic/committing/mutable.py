"""One small object that changes in place: read, decide purely, write conditionally, again.

The condition is on what was read, so of two changes at once one is made again on top of
the other. ``decide`` must find its own earlier change in what it is given, because a
reply can be lost and the object changed by others before that is noticed.
"""

import hashlib
import logging
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from scenemosaic.committing.commit import (
    Effects,
    Outcome,
    RetryPolicy,
    commit_object,
    system_effects,
)
from scenemosaic.committing.metrics import count_outcomes
from scenemosaic.errors import Contended, ForeignObject, IncompleteError
from scenemosaic.stores.port import Body, IfAbsent, IfMatch, ObjectInfo, Store
from scenemosaic.waiting.retry import Pacer, retrying

A = TypeVar("A")
# Given the bytes that stand there (or None) and this attempt's write-id: new bytes, or None.
Decide = Callable[[bytes | None, str], tuple[bytes | None, A]]

PATIENCE: Final = RetryPolicy(attempts=24, base_s=0.05, cap_s=2.0, deadline_s=120.0)
# So many refusals in one change are a storm: somebody ought to know, and nothing is wrong yet.
STORM: Final = 8
SUPERSEDED: Final = "swap_superseded"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Changed(Generic[A]):
    """What was decided, and what it took: commit's counters and ``swap_superseded``.

    The last one counts the attempts that others came before.
    """

    answer: A
    counters: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Standing:
    """The object as it was read; both None where there is none."""

    data: bytes | None
    etag: str | None


@dataclass(frozen=True, slots=True)
class Mutable:
    """The object at ``key``. Clock, chance and write-ids are injected."""

    store: Store
    key: str
    content_type: str = "application/json"
    max_bytes: int = 1 << 20
    policy: RetryPolicy = PATIENCE
    effects: Effects = field(default_factory=system_effects)
    nonce: Callable[[], str] = lambda: secrets.token_hex(8)

    @property
    def uri(self) -> str:
        return self.store.object_uri(self.key)

    def read(self) -> Standing:
        """The object as it stands, its bytes and ETag of one version."""
        pacer = Pacer(self.policy, self.effects)
        while True:
            info = retrying(lambda: self.store.head(self.key), self.policy, self.effects)
            if info is None:
                return Standing(None, None)
            data = self._bytes(info)
            if data is not None:
                return Standing(data, info.etag)
            if not pacer.again():
                raise Contended(f"{self.uri} changes faster than it can be read")

    def change(self, decide: Decide[A], run_id: str) -> Changed[A]:
        """Store what ``decide`` makes of the object, until it is stored or nothing is to do.

        Raises Contended where others were always first, another TransientStoreError where it
        is not known whether the change landed; then to ask again is safe.
        """
        pacer, counters = Pacer(self.policy, self.effects), Counter[str]()
        while True:
            standing = self.read()
            write_id = f"{run_id}/{self.nonce()}"
            data, answer = decide(standing.data, write_id)
            if data is None or self._stored(data, standing, write_id, counters):
                self._note(counters)
                return Changed(answer, dict(counters))
            if not pacer.again():
                self._note(counters)
                raise Contended(
                    f"{self.uri}: others changed it before each of {pacer.failures} attempts; "
                    "run again"
                )

    def _bytes(self, info: ObjectInfo) -> bytes | None:
        """The bytes of exactly this version; None where it was replaced meanwhile."""
        if info.size_bytes > self.max_bytes:
            raise ForeignObject(f"{self.uri} has {info.size_bytes} bytes, which is none of ours")
        try:
            return retrying(
                lambda: self.store.get(self.key, etag=info.etag), self.policy, self.effects
            )
        except IncompleteError:
            return None

    def _stored(
        self, data: bytes, standing: Standing, write_id: str, counters: Counter[str]
    ) -> bool:
        sha256 = hashlib.sha256(data).hexdigest()
        body = Body(data, sha256, self.content_type, {"sha256": sha256, "write_id": write_id})
        condition = IfAbsent() if standing.etag is None else IfMatch(standing.etag)
        done = commit_object(self.store, self.key, body, condition, self.policy, self.effects)
        counters.update(done.counters)
        stored = done.outcome is Outcome.WRITTEN
        counters[SUPERSEDED] += not stored
        return stored

    def _note(self, counters: Mapping[str, int]) -> None:
        superseded = counters.get(SUPERSEDED, 0)
        count_outcomes({SUPERSEDED: superseded})
        if superseded >= STORM:
            _log.warning("%s: %d changes by others came before ours", self.uri, superseded)
