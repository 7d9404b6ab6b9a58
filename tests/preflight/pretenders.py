"""Stores that break one promise each, and keep the others."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from scenemosaic.errors import MissingCapability, PermanentStoreError
from scenemosaic.stores.port import (
    Answer,
    Condition,
    IfAbsent,
    IfMatch,
    Probes,
    Probing,
    Segment,
    Store,
    WriteResult,
)
from tests.faults.stores import IgnoresConditions, LostReplyStore, Wrapper

Writes = Callable[[Condition], WriteResult]


class Probed(Wrapper):
    """An honest store, with the verbs to clean up."""

    def probes(self) -> Probes:
        assert isinstance(self.inner, Probing)
        return self.inner.probes()


class IgnoresAll(IgnoresConditions, Probed):
    """Every write overwrites."""


class MixesWrites(IgnoresAll):
    """Of writes that overtake each other it keeps one's data and another's checksum."""

    def get(
        self, key: str, offset: int = 0, size_bytes: int | None = None, etag: str | None = None
    ) -> bytes:
        if "-race-" in key:
            raise PermanentStoreError(f"{key}: the data have another checksum")
        return super().get(key, offset, size_bytes, etag)


class IgnoresSome(Probed):
    """Overwrites where :meth:`ignores` says so."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._overwriting = IgnoresConditions(inner)
        self._composing = threading.local()

    def ignores(self, condition: Condition, composing: bool) -> bool:
        raise NotImplementedError

    def writing(self, key: str, condition: Condition, write: Writes) -> WriteResult:
        composing = getattr(self._composing, "now", False)
        if self.ignores(condition, composing):
            return self._overwriting.writing(key, condition, write)
        return write(condition)

    def compose(
        self,
        key: str,
        segments: Sequence[Segment],
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        self._composing.now = True
        try:
            return super().compose(key, segments, condition, content_type, metadata)
        finally:
            self._composing.now = False


class IgnoresCreates(IgnoresSome):
    def ignores(self, condition: Condition, composing: bool) -> bool:
        return isinstance(condition, IfAbsent) and not composing


class IgnoresMatches(IgnoresSome):
    def ignores(self, condition: Condition, composing: bool) -> bool:
        return isinstance(condition, IfMatch) and not composing


class IgnoresCompletions(IgnoresSome):
    def ignores(self, condition: Condition, composing: bool) -> bool:
        return composing


class IgnoresMatchesOfCompletions(IgnoresSome):
    def ignores(self, condition: Condition, composing: bool) -> bool:
        return composing and isinstance(condition, IfMatch)


class LooksFirst(Probed):
    """Looks, and writes later: requests that come one by one see nothing of it."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._overwriting = IgnoresConditions(inner)
        self._gap = threading.Barrier(2)

    def writing(self, key: str, condition: Condition, write: Writes) -> WriteResult:
        stands = self.inner.head(key)
        if isinstance(condition, IfAbsent) and stands is not None:
            return WriteResult(Answer.REFUSED)
        if isinstance(condition, IfMatch) and (stands is None or stands.etag != condition.etag):
            return WriteResult(Answer.REFUSED if stands else Answer.GONE)
        with suppress(threading.BrokenBarrierError):
            self._gap.wait(0.05)
        self._gap.reset()
        return self._overwriting.writing(key, condition, write)


class RefusesAndWrites(Probed):
    """Says that it refused, and overwrote."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._overwriting = IgnoresConditions(inner)

    def writing(self, key: str, condition: Condition, write: Writes) -> WriteResult:
        result = write(condition)
        if result.answer is Answer.REFUSED:
            self._overwriting.writing(key, condition, write)
        return result


class ForgetsDeleted(Probed):
    """Where something was deleted, no condition holds any more."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._overwriting = IgnoresConditions(inner)
        self._deleted: set[str] = set()

    def probes(self) -> Probes:
        return _Noting(super().probes(), self._deleted)

    def writing(self, key: str, condition: Condition, write: Writes) -> WriteResult:
        if key in self._deleted:
            return self._overwriting.writing(key, condition, write)
        return write(condition)


class _Noting:
    def __init__(self, inner: Probes, deleted: set[str]) -> None:
        self.versions = inner.versions
        self._inner = inner
        self._deleted = deleted

    def delete(self, key: str, version_id: str | None = None) -> None:
        self._deleted.add(key)
        self._inner.delete(key, version_id)


class HasNoMatch(Probed):
    """Does not know If-Match, and says so."""

    def writing(self, key: str, condition: Condition, write: Writes) -> WriteResult:
        if isinstance(condition, IfMatch):
            raise MissingCapability(f"{key}: NotImplemented (HTTP 501)")
        return write(condition)


class HasNoParts(Probed):
    """Cannot compose, and says so."""

    def compose(
        self,
        key: str,
        segments: Sequence[Segment],
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        raise MissingCapability(f"{key}: NotImplemented (HTTP 501)")


class DeniesDeletes(Probed):
    """Lets nobody delete anything."""

    def probes(self) -> Probes:
        return _Denying(super().probes())


class _Denying:
    def __init__(self, inner: Probes) -> None:
        self.versions = inner.versions

    def delete(self, key: str, version_id: str | None = None) -> None:
        raise PermanentStoreError(f"DeleteObject of {key}: AccessDenied (HTTP 403)")


class LosesReplies(Probed):
    """Every ``each``-th write's reply is lost; of these every other one lands."""

    def __init__(self, inner: Store, each: int = 5) -> None:
        super().__init__(inner)
        self._each = each
        self._count = 0
        self._lock = threading.Lock()

    def writing(self, key: str, condition: Condition, write: Writes) -> WriteResult:
        with self._lock:
            self._count += 1
            number = self._count
        if number % self._each:
            return write(condition)
        lands = number % (2 * self._each) == 0
        return LostReplyStore(self.inner, lost=1, lands=lands).writing(key, condition, write)


class Conflicts(Probed):
    """Every other write is answered 409, and nothing lands."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._count = 0
        self._lock = threading.Lock()

    def writing(self, key: str, condition: Condition, write: Writes) -> WriteResult:
        with self._lock:
            self._count += 1
            odd = self._count % 2
        return WriteResult(Answer.RACING) if odd else write(condition)
