"""Faults as wrappers of a real store: each breaks one promise of the network or of the store."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from scenemosaic.errors import PermanentStoreError, TransientStoreError
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

Write = Callable[[], WriteResult]


class Wrapper:
    """Passes every verb on; subclasses change what a write does by :meth:`writing`."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.uri = inner.uri
        self.capabilities = inner.capabilities
        self.writes = 0
        self.heads = 0

    def object_uri(self, key: str) -> str:
        return self.inner.object_uri(key)

    def close(self) -> None:
        self.inner.close()

    def head(self, key: str) -> ObjectInfo | None:
        self.heads += 1
        return self.inner.head(key)

    def get(
        self, key: str, offset: int = 0, size_bytes: int | None = None, etag: str | None = None
    ) -> bytes:
        return self.inner.get(key, offset, size_bytes, etag)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        return self.inner.list(prefix)

    def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
        self.writes += 1
        return self.writing(key, condition, lambda now: self.inner.put(key, body, now))

    def compose(
        self,
        key: str,
        segments: Sequence[Segment],
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        self.writes += 1
        return self.writing(
            key,
            condition,
            lambda now: self.inner.compose(key, segments, now, content_type, metadata),
        )

    def writing(
        self, key: str, condition: Condition, write: Callable[[Condition], WriteResult]
    ) -> WriteResult:
        return write(condition)


class LostReplyStore(Wrapper):
    """The first ``lost`` writes land (or not), and their replies are lost."""

    def __init__(
        self,
        inner: Store,
        lost: int = 1,
        lands: bool = True,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(inner)
        self.lost = lost
        self.lands = lands
        self.retry_after_s = retry_after_s

    def writing(
        self, key: str, condition: Condition, write: Callable[[Condition], WriteResult]
    ) -> WriteResult:
        if self.writes > self.lost:
            return write(condition)
        if self.lands:
            write(condition)
        raise TransientStoreError(f"{key}: reply lost", self.retry_after_s)


class RacingStore(Wrapper):
    """The first ``conflicts`` writes are answered 409, and nothing lands."""

    def __init__(self, inner: Store, conflicts: int = 1) -> None:
        super().__init__(inner)
        self.conflicts = conflicts

    def writing(
        self, key: str, condition: Condition, write: Callable[[Condition], WriteResult]
    ) -> WriteResult:
        if self.writes <= self.conflicts:
            return WriteResult(Answer.RACING)
        return write(condition)


class DelayedStore(Wrapper):
    """The first write times out and lands only when the second one has been sent."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._delayed: Write | None = None

    def writing(
        self, key: str, condition: Condition, write: Callable[[Condition], WriteResult]
    ) -> WriteResult:
        if self.writes == 1:
            self._delayed = lambda: write(condition)
            raise TransientStoreError(f"{key}: timed out")
        if self._delayed is not None:
            self._delayed()
            self._delayed = None
        return write(condition)


class InterveningStore(Wrapper):
    """Before each write reaches the store, somebody else does something first."""

    def __init__(self, inner: Store, intervene: Callable[[int], None]) -> None:
        super().__init__(inner)
        self._intervene = intervene

    def writing(
        self, key: str, condition: Condition, write: Callable[[Condition], WriteResult]
    ) -> WriteResult:
        self._intervene(self.writes)
        return write(condition)


class FailingHeadStore(Wrapper):
    """Reading back fails: for the first ``failures`` times transiently, or at once for good."""

    def __init__(self, inner: Store, failures: int, permanent: bool = False) -> None:
        super().__init__(inner)
        self._failures = failures
        self._permanent = permanent

    def head(self, key: str) -> ObjectInfo | None:
        self.heads += 1
        if self._permanent:
            raise PermanentStoreError(f"HeadObject of {key}: 403")
        if self.heads <= self._failures:
            raise TransientStoreError(f"HeadObject of {key}: 503")
        return self.inner.head(key)


class IgnoresConditions(Wrapper):
    """A store that only pretends: every write overwrites, whatever its condition."""

    def writing(
        self, key: str, condition: Condition, write: Callable[[Condition], WriteResult]
    ) -> WriteResult:
        result = WriteResult(Answer.RACING)
        for _ in itertools.count():
            standing = self.inner.head(key)
            result = write(IfAbsent() if standing is None else IfMatch(standing.etag))
            if result.answer is Answer.WRITTEN:
                break
        return result
