"""A claim in hand: renewed by a heartbeat while the work runs, given back at its end."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from scenemosaic.claiming.claims import Claim, Claims, State
from scenemosaic.errors import ClaimLost, SceneMosaicError, StoreError, TransientStoreError
from scenemosaic.waiting.retry import RetryPolicy

BEATS_PER_LEASE = 3

_log = logging.getLogger(__name__)
_ONCE = RetryPolicy(attempts=1)
# Whoever waits is not helped by a holder that goes on trying to say that it has ended.
_AT_THE_END = RetryPolicy(attempts=4, deadline_s=10.0)


class Held:
    """A claim that was ours when it was taken. Safe for the worker and its heartbeat at once.

    ``inherited`` is the upload that a predecessor left; ``fresh`` says that there was none
    before us.
    """

    def __init__(self, claims: Claims, claim: Claim, *, fresh: bool) -> None:
        self._claims = claims
        self._claim = claim
        self._lock = threading.Lock()
        self.inherited = claim.upload_id
        self.fresh = fresh
        self.lost = False

    @property
    def claim(self) -> Claim:
        """The claim as we last stored it."""
        return self._claim

    def renew(self) -> bool:
        """Tell the others that we live: one attempt. False where the claim is lost."""
        return self._change(_ONCE)

    def record(self, upload_id: str) -> None:
        """Keep an upload's ID in the claim. ClaimLost where the claim is another's now."""
        if not self._change(None, upload_id=upload_id):
            raise ClaimLost(f"the claim of {self._claim.name.uri} was taken over")

    def give_back(self, state: State) -> None:
        """Say how it ended. A claim that cannot be given back ends with its lease."""
        upload_id = None if state is State.DONE else self._claim.upload_id
        try:
            self._change(_AT_THE_END, state=state, upload_id=upload_id)
        except StoreError as error:
            _log.warning("the claim of %s runs out by itself: %s", self._claim.name.uri, error)

    def _change(self, policy: RetryPolicy | None, **changes: Any) -> bool:
        with self._lock:
            if self.lost:
                return False
            stored = self._claims.swap(replace(self._claim, **changes), policy)
            if stored is None:
                self.lost = True
                _log.info("lost the claim of %s", self._claim.name.uri)
                return False
            self._claim = stored
            return True


class Heartbeat:
    """Calls ``beat`` every ``every_s`` seconds in a thread of its own, until it says False."""

    def __init__(self, beat: Callable[[], bool], every_s: float) -> None:
        self._beat, self._every_s = beat, every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="claim-heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            try:
                if not self._beat():
                    return
            except TransientStoreError as error:
                _log.info("a claim was not renewed, the next beat will try again: %s", error)
            except SceneMosaicError as error:
                _log.warning("a claim is not renewed any more: %s", error)
                return


@contextlib.contextmanager
def kept(held: Held) -> Iterator[None]:
    """Renew while the block runs; then the claim is DONE, or FREE where the block raised."""
    state = State.FREE
    try:
        with Heartbeat(held.renew, held.claim.lease_s / BEATS_PER_LEASE):
            yield
        state = State.DONE
    finally:
        held.give_back(state)
