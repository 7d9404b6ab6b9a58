"""An adapter as the product uses it: requests that a server dropped are sent again.

An emulator may end a connection whenever it likes: fake-gcs-server does so after each 416
without saying so, and whatever is sent next on that connection is lost. That is no
matter of the conformance suite, whose subject is what a server answers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from scenemosaic.errors import TransientStoreError
from scenemosaic.stores.port import (
    Answer,
    Body,
    Condition,
    ObjectInfo,
    Segment,
    Store,
    WriteResult,
)
from scenemosaic.waiting.retry import Pacer, RetryPolicy, retrying, system_effects
from tests.faults.stores import Wrapper

_POLICY = RetryPolicy(attempts=5)


class Patient(Wrapper):
    """Reads again what got no answer; sends a lost write again, and knows its own by metadata.

    So each write's metadata must be that writer's alone. What is asserted stays what it was:
    a write that landed twice is seen by its versions, one that was lost by its absence.
    """

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._effects = system_effects()

    def head(self, key: str) -> ObjectInfo | None:
        return retrying(lambda: self.inner.head(key), _POLICY, self._effects)

    def get(
        self, key: str, offset: int = 0, size_bytes: int | None = None, etag: str | None = None
    ) -> bytes:
        return retrying(
            lambda: self.inner.get(key, offset, size_bytes, etag), _POLICY, self._effects
        )

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        return self.inner.list(prefix)  # by pages, each of which the adapter itself asks again for

    def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
        return self._settled(key, body.metadata, lambda: self.inner.put(key, body, condition))

    def compose(
        self,
        key: str,
        segments: Sequence[Segment],
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        write = lambda: self.inner.compose(key, segments, condition, content_type, metadata)  # noqa: E731
        return self._settled(key, metadata, write)

    def _settled(
        self, key: str, metadata: Mapping[str, str], write: Callable[[], WriteResult]
    ) -> WriteResult:
        pacer = Pacer(_POLICY, self._effects)
        while True:
            try:
                result = write()
            except TransientStoreError as error:
                if not pacer.again(error.retry_after_s):
                    raise
                continue
            if pacer.failures and result.answer in (Answer.REFUSED, Answer.GONE):
                stands = self.head(key)
                if stands is not None and stands.metadata == metadata:
                    return WriteResult(Answer.WRITTEN, stands)
            return result
