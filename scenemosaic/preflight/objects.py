"""One preflight's own objects: made, raced for, read back, and remembered."""

import hashlib
from dataclasses import dataclass, field

from scenemosaic import keys
from scenemosaic.committing.commit import Outcome, commit_object
from scenemosaic.errors import PermanentStoreError
from scenemosaic.preflight.ground import Ground, Stored, Write
from scenemosaic.preflight.report import Finding, Made, Verdict
from scenemosaic.stores.port import (
    Answer,
    Body,
    Condition,
    CopyRun,
    IfAbsent,
    Literal,
    ObjectInfo,
    Segment,
    Store,
    WriteResult,
)
from scenemosaic.waiting.retry import retrying

CONTENT_TYPE = "text/plain"
# Longer bodies leave more room between a store's look and its write.
PADDING_BYTES = (0, 64 << 10)
# The smallest run that S3 copies by itself, so that the composition is an upload in parts.
_RUN_BYTES = 5 << 20
# Enough for a store that streams to begin a session instead of sending one request.
_STREAM_BYTES = 17 << 20


@dataclass
class Objects:
    """One preflight's objects in a store; ``made`` holds every version that is known to exist."""

    ground: Ground
    store: Store
    made: dict[Made, str] = field(default_factory=dict)

    def key(self, name: str, number: int | None = None) -> str:
        tail = name if number is None else f"{name}-{number:04d}"
        return keys.probe_prefix(self.ground.token) + tail

    def create(self, key: str, mark: str, condition: Condition | None = None) -> ObjectInfo:
        """An object to start from. Raises SceneMosaicError where it cannot be made."""
        body = body_of(mark)
        done = commit_object(
            self.store,
            key,
            body,
            condition or IfAbsent(),
            self.ground.policy,
            self.ground.effects,
        )
        if done.outcome is not Outcome.WRITTEN:
            raise PermanentStoreError(
                f"{self.store.object_uri(key)}: a first write was answered {done.outcome.value!r}"
            )
        return self.record(done.stored)

    def put(self, key: str, condition: Condition, padding: int = 0) -> Write:
        return lambda mark: self._answer(self.store.put(key, body_of(mark, padding), condition))

    def compose(self, key: str, base: list[Segment], condition: Condition) -> Write:
        def write(mark: str) -> Answer:
            segments = [*base, Literal(body_of(mark).data)]
            metadata = _metadata(mark, "composed")
            return self._answer(
                self.store.compose(key, segments, condition, CONTENT_TYPE, metadata)
            )

        return write

    def stored(self, key: str, offset: int = 0) -> Stored:
        """Reads the mark that is stored; None where there is none that was sent whole."""

        def read() -> str | None:
            info = self.head(key)
            if info is None:
                return None
            self.record(info)
            data = self.read(key, offset, info.etag)
            mark = data[: data.find(b"\n")].decode("ascii", "replace")
            return mark if data in (body_of(mark, some).data for some in PADDING_BYTES) else ""

        return read

    def head(self, key: str) -> ObjectInfo | None:
        return retrying(lambda: self.store.head(key), self.ground.policy, self.ground.effects)

    def read(self, key: str, offset: int, etag: str) -> bytes:
        return retrying(
            lambda: self.store.get(key, offset, None, etag), self.ground.policy, self.ground.effects
        )

    def record(self, info: ObjectInfo) -> ObjectInfo:
        self.made[Made(self.store.object_uri(info.key), info.version_id)] = info.key
        return info

    def _answer(self, result: WriteResult) -> Answer:
        if result.info is not None:
            self.record(result.info)
        return result.answer

    def untouched(self, stands: ObjectInfo, write: Write, what: str) -> Finding:
        """Whether ``write`` is refused, and leaves what stands there as it is."""
        before = self.head(stands.key)
        answer = self.ground.surely("store", "intruder", write)
        if answer is Answer.WRITTEN:
            return Finding(Verdict.IGNORED, f"{what} was accepted")
        if before is None or self.head(stands.key) != before:
            return Finding(Verdict.IGNORED, f"{what} was refused, and yet changed the object")
        return Finding(Verdict.ENFORCED, f"{what} was refused")

    def base(self) -> list[Segment]:
        """What every composition begins with: enough for parts, or for a session."""
        if not self.store.capabilities.server_side_copy:
            return [Literal(bytes(_STREAM_BYTES))]
        key = self.key("base")
        info = self.head(key) or self._make_base(key)
        return [CopyRun(key, info.etag, 0, info.size_bytes)]

    def _make_base(self, key: str) -> ObjectInfo:
        data = bytes(_RUN_BYTES)
        digest = hashlib.sha256(data).hexdigest()
        body = Body(data, digest, CONTENT_TYPE, _metadata("base", digest))
        done = commit_object(
            self.store, key, body, IfAbsent(), self.ground.policy, self.ground.effects
        )
        return self.record(done.stored)


def body_of(mark: str, padding: int = 0) -> Body:
    """The whole body that a mark stands for."""
    data = mark.encode() + b"\n" + mark[-1:].encode() * padding
    digest = hashlib.sha256(data).hexdigest()
    return Body(data, digest, CONTENT_TYPE, _metadata(mark, digest))


def _metadata(mark: str, digest: str) -> dict[str, str]:
    return {"job_id": "preflight", "write_id": mark, "sha256": digest}
