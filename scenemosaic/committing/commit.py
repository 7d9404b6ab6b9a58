"""The one conditional commit procedure, for objects and for rows.

A store answers once a request; what the answers mean together is decided here:
a lost race is a value, a lost reply is resolved by reading back, and nothing is
ever taken as written, or as not written, without proof.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from scenemosaic.committing.metrics import count_refusal
from scenemosaic.committing.outcome import COUNTERS, Committed, Outcome
from scenemosaic.committing.refusal import Refusal, refusal
from scenemosaic.committing.witness import witness_of
from scenemosaic.errors import (
    ForeignObject,
    PermanentStoreError,
    SceneMosaicError,
    TransientStoreError,
)
from scenemosaic.manifests.port import Existing, Inserted, Manifest, Row
from scenemosaic.stores.port import (
    Answer,
    Body,
    Condition,
    IfAbsent,
    IfMatch,
    ObjectInfo,
    Segment,
    Store,
    WriteResult,
)
from scenemosaic.waiting.retry import Effects, Pacer, RetryPolicy, retrying, system_effects

__all__ = [
    "COUNTERS",
    "Committed",
    "Effects",
    "Outcome",
    "Refusal",
    "RetryPolicy",
    "commit_composed",
    "commit_object",
    "commit_row",
    "is_ours",
    "retrying",
    "system_effects",
]

_log = logging.getLogger(__name__)


def commit_object(
    store: Store,
    key: str,
    body: Body,
    condition: Condition,
    policy: RetryPolicy,
    effects: Effects,
) -> Committed:
    """Put ``body`` at ``key`` under ``condition``, surviving lost replies, 409 and throttling.

    Its metadata must hold ``write_id``, unique to this run and object (for IfMatch:
    to this very change). Raises ForeignObject where the key holds what is not
    ours, TransientStoreError where it stays unknown whether the write landed.
    """
    attempt = _Attempt(store, key, condition, body.metadata, policy, effects)
    return attempt.run(lambda: store.put(key, body, condition), read_back_at_once=False)


def commit_composed(
    store: Store,
    key: str,
    segments: Sequence[Segment],
    condition: Condition,
    content_type: str,
    metadata: Mapping[str, str],
    policy: RetryPolicy,
    effects: Effects,
) -> Committed:
    """Like :func:`commit_object` for an object made of segments.

    Composing is costly, so a lost reply is resolved by reading back before it is
    done again; a 409 means a whole new composition.
    """
    attempt = _Attempt(store, key, condition, metadata, policy, effects)
    return attempt.run(
        lambda: store.compose(key, segments, condition, content_type, metadata),
        read_back_at_once=True,
    )


def commit_row(
    manifest: Manifest, row: Row, policy: RetryPolicy, effects: Effects
) -> Inserted | Existing:
    """Insert ``row`` where absent; after a lost reply our own row counts as inserted."""
    pacer = Pacer(policy, effects)
    while True:
        try:
            answer = manifest.insert(row)
        except TransientStoreError as error:
            if not pacer.again(error.retry_after_s):
                raise
            continue
        if isinstance(answer, Existing):
            if pacer.failures and _same_write(answer.row, row):
                return Inserted()
            count_refusal("manifest")
            _log.info("row refused, already present: %s %s", row.partition, row.window)
        return answer


def is_ours(stored: ObjectInfo, metadata: Mapping[str, str]) -> bool:
    """Whether this pipeline wrote ``stored``, and for the same job as ``metadata`` says."""
    theirs = stored.metadata
    if not theirs.get("write_id") or not (theirs.get("sha256") or theirs.get("digest")):
        return False
    return theirs.get("job_id") == metadata.get("job_id")


def _same_write(stored: Row, row: Row) -> bool:
    return (stored.written_by, stored.written_at, stored.etag, stored.sha256) == (
        row.written_by,
        row.written_at,
        row.etag,
        row.sha256,
    )


class _Attempt:
    """One commit under way: its answers so far, and the judgement of the next."""

    def __init__(
        self,
        store: Store,
        key: str,
        condition: Condition,
        metadata: Mapping[str, str],
        policy: RetryPolicy,
        effects: Effects,
    ) -> None:
        self._store = store
        self._key = key
        self._condition = condition
        self._metadata = metadata
        self._policy = policy
        self._effects = effects
        self._pacer = Pacer(policy, effects)
        self._counters = dict.fromkeys(COUNTERS, 0)
        self._refusals: list[Refusal] = []

    def run(self, write: Callable[[], WriteResult], *, read_back_at_once: bool) -> Committed:
        witness = witness_of(self._effects)
        witness.before(self._key, self._condition)
        try:
            done = self._run(write, read_back_at_once)
        except SceneMosaicError:
            witness.failed(self._refusals)
            raise
        return witness.after(done, self._condition)

    def _run(self, write: Callable[[], WriteResult], read_back_at_once: bool) -> Committed:
        while True:
            done, why, retry_after_s = self._try(write, read_back_at_once)
            if done is None and not self._pacer.again(retry_after_s):
                done = self._read_back() or self._give_up(why)
            if done is not None:
                return done

    def _try(
        self, write: Callable[[], WriteResult], read_back_at_once: bool
    ) -> tuple[Committed | None, str, float | None]:
        try:
            result = write()
        except TransientStoreError as error:
            self._counters["ambiguous"] += 1
            done = self._read_back() if read_back_at_once else None
            return done, str(error), error.retry_after_s
        return self._judge(result), f"the last answer was {result.answer.value!r}", None

    def _judge(self, result: WriteResult) -> Committed | None:
        match result.answer:
            case Answer.WRITTEN:
                return self._committed(Outcome.WRITTEN, result.info)
            case Answer.RACING:
                self._counters["conflict_409_retried"] += 1
                return None
            case Answer.REFUSED:
                self._count_refusal(result)
                return self._read_back(refused=True)
            case Answer.GONE:
                return self._gone(result)

    def _gone(self, result: WriteResult) -> Committed:
        if isinstance(self._condition, IfAbsent):
            raise PermanentStoreError(f"{self._uri}: the store answered a create with 404")
        self._count_refusal(result)
        self._log_refusal("target gone")
        return self._committed(Outcome.TARGET_GONE, None)

    def _read_back(self, *, refused: bool = False) -> Committed | None:
        """The outcome as the stored object shows it; None where it shows nothing yet."""
        stored = retrying(partial(self._store.head, self._key), self._policy, self._effects)
        own = stored is not None and self._is_own_write(stored)
        if refused:
            self._refusals[-1] = self._refusals[-1].by(stored, own=own)
        if stored is None or self._is_target(stored):
            return None
        if own:
            self._counters["own_write_recovered"] += 1
            return self._committed(Outcome.WRITTEN, stored)
        if not is_ours(stored, self._metadata):
            raise ForeignObject(
                f"{self._uri} holds an object that this pipeline did not write "
                f"(ETag {stored.etag}); move it away, or choose another root"
            )
        lost = isinstance(self._condition, IfAbsent)
        outcome = Outcome.ALREADY_PRESENT if lost else Outcome.SUPERSEDED
        self._log_refusal(outcome.value)
        return self._committed(outcome, stored)

    def _is_target(self, stored: ObjectInfo) -> bool:
        return isinstance(self._condition, IfMatch) and stored.etag == self._condition.etag

    def _is_own_write(self, stored: ObjectInfo) -> bool:
        if stored.metadata.get("write_id") != self._metadata.get("write_id"):
            return False
        # A create's write-id proves itself, so that a retried task knows its own PUT. A
        # changed object may be an earlier change of ours, unless a reply was lost just now.
        return isinstance(self._condition, IfAbsent) or self._counters["ambiguous"] > 0

    def _give_up(self, why: str) -> Committed:
        raise TransientStoreError(
            f"{self._uri}: after {self._pacer.failures} attempts it is not known whether the "
            f"write landed: {why}; run again"
        )

    def _committed(self, outcome: Outcome, info: ObjectInfo | None) -> Committed:
        return Committed(outcome, info, dict(self._counters), tuple(self._refusals))

    def _count_refusal(self, result: WriteResult) -> None:
        now, request_id = self._effects.now(), result.request_id
        self._refusals.append(refusal(self._key, self._condition, request_id, self._metadata, now))
        self._counters["refused"] += 1
        count_refusal("store")

    def _log_refusal(self, outcome: str) -> None:
        job_id = self._metadata.get("job_id", "-")
        _log.info("%s: job %s key %s", outcome, job_id, self._key)

    @property
    def _uri(self) -> str:
        return self._store.object_uri(self._key)
