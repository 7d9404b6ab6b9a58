"""The claim gate: of many at once one does the work, the others wait for what comes of it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from scenemosaic.claiming.claims import Claim, ClaimName, Claims, State
from scenemosaic.claiming.held import Held, kept
from scenemosaic.errors import ClaimLost, LeaseHeld

T = TypeVar("T")

POLL_BASE_S = 0.1
POLL_CAP_S = 2.0
POLL_LEAST_S = 0.001

_log = logging.getLogger(__name__)


def once(
    claims: Claims,
    name: ClaimName,
    run_id: str,
    look: Callable[[], T | None],
    work: Callable[[Held], T],
) -> T:
    """What ``look`` finds, or what ``work`` makes of it under the claim.

    ``look`` must find everything that ``work`` makes, whoever did it. Raises
    LeaseHeld where a holder that lives has not come to an end within the patience.
    """
    turn = _Turn(claims, name, run_id)
    while (found := look()) is None:
        held = turn.next()
        if held is None:
            continue
        try:
            with kept(held):
                return work(held)
        except ClaimLost as error:
            _log.info("%s; its result is waited for", error)
    return found


@dataclass(slots=True)
class Watch:
    """Whether a holder is silent: its token unchanged for its lease, on the observer's clock."""

    _token: tuple[str, int] | None = None
    _since_s: float = 0.0

    def see(self, claim: Claim, now_s: float) -> None:
        """Note the claim as it was read; ``now_s`` is the time after the answer came."""
        if self._token != (claim.holder, claim.token):
            self._token, self._since_s = (claim.holder, claim.token), now_s

    def left_s(self, claim: Claim, now_s: float) -> float:
        """How much of the lease is left; 0 or less where the holder may be taken for dead."""
        return claim.lease_s - (now_s - self._since_s)


class _Turn:
    """One run's way to the claim: it takes it, waits, or takes it over."""

    def __init__(self, claims: Claims, name: ClaimName, run_id: str) -> None:
        self._claims, self._name, self._run_id = claims, name, run_id
        self._watch = Watch()
        self._seen: Claim | None = None
        self._polls = 0
        self._end_s = claims.effects.clock() + claims.settings.patience_s

    def next(self) -> Held | None:
        """The claim where it is ours now, or None once it is time to look again."""
        before, found = self._seen, self._claims.look(self._name) if self._seen else None
        if found is None:
            found, is_ours = self._claims.take(self._name, self._run_id)
            if is_ours:
                return Held(self._claims, found, fresh=True)
            _log.info("%s: %s has the claim", self._name.uri, found.holder)
        self._seen = found
        self._watch.see(found, self._claims.effects.clock())
        if found.state is State.DONE and (before is None or before.token != found.token):
            # It ended after the caller had looked, or its result was taken away since.
            return None
        if found.state is State.HELD and self._left_s(found) > 0:
            self._pause(found)
            return None
        return self._take_over(found)

    def _take_over(self, seen: Claim) -> Held | None:
        mine = self._claims.take_over(seen, self._run_id)
        if mine is None:
            return None
        if seen.state is State.HELD:
            _log.warning(
                "%s was silent for its lease of %g s: %s is taken over",
                seen.holder, seen.lease_s, self._name.uri,
            )  # fmt: skip
        return Held(self._claims, mine, fresh=False)

    def _left_s(self, claim: Claim) -> float:
        return self._watch.left_s(claim, self._claims.effects.clock())

    def _pause(self, claim: Claim) -> None:
        effects = self._claims.effects
        if effects.clock() >= self._end_s:
            raise LeaseHeld(
                f"{claim.holder} has been making {self._name.uri} for more than "
                f"{self._claims.settings.patience_s:g} s and still says that it lives; "
                "wait for it, or end it, and run again"
            )
        ceiling = min(POLL_CAP_S, POLL_BASE_S * 2.0 ** min(self._polls, 10))
        self._polls += 1
        pause_s = min(ceiling * (0.5 + effects.random() / 2), self._left_s(claim))
        effects.sleep(max(pause_s, POLL_LEAST_S))
