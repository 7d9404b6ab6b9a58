"""What the adapters of remote stores share: a client, a prefix, and how bytes are gathered."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from scenemosaic.keys import check_key
from scenemosaic.roots import Root
from scenemosaic.stores.pieces import Gathered, RunCheck, gather
from scenemosaic.stores.port import Body, Condition, CopyRun, Segment, WriteResult
from scenemosaic.waiting.retry import Effects, RetryPolicy, retrying, system_effects

T = TypeVar("T")


class Client(Protocol):
    """What sends requests to one bucket or container."""

    def close(self) -> None: ...


R = TypeVar("R", bound=Client)


class RemoteStore(ABC, Generic[R]):
    """A bucket's or container's prefix as a store. Safe for threads; one for each process.

    ``policy`` is for what may land twice: parts, pages of a listing, bytes to gather.
    """

    def __init__(
        self,
        root: Root,
        requests: R,
        policy: RetryPolicy | None = None,
        effects: Effects | None = None,
    ) -> None:
        self.uri = root.uri
        self._prefix = f"{root.prefix}/" if root.prefix else ""
        self._requests = requests
        self._policy = policy or RetryPolicy()
        self._effects = effects or system_effects()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"the store of {self.uri} holds a client; open it again from its URI")

    @abstractmethod
    def get(
        self, key: str, offset: int = 0, size_bytes: int | None = None, etag: str | None = None
    ) -> bytes: ...

    @abstractmethod
    def put(self, key: str, body: Body, condition: Condition) -> WriteResult: ...

    def object_uri(self, key: str) -> str:
        return f"{self.uri}/{check_key(key)}"

    def close(self) -> None:
        self._requests.close()

    def _full_key(self, key: str) -> str:
        return self._prefix + check_key(key)

    def _again(self, call: Callable[[], T]) -> T:
        """``call()``, sent again after a transient failure: never for a conditional write."""
        return retrying(call, self._policy, self._effects)

    def _gather(self, pieces: Sequence[Segment]) -> Gathered:
        return gather(pieces, self._run)

    def _run(self, run: CopyRun) -> bytes:
        return self._again(lambda: self.get(run.key, run.offset, run.size_bytes, run.etag))

    def _put_gathered(
        self,
        key: str,
        segments: Sequence[Segment],
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        """A composition small enough for a single request."""
        gathered = self._gather(segments)
        RunCheck(segments).saw(gathered.seen)
        digest = hashlib.sha256(gathered.data).hexdigest()
        return self.put(key, Body(gathered.data, digest, content_type, metadata), condition)
