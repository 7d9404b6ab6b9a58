"""The Azure Blob store: conditions on ETags, one attempt a request."""

import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from scenemosaic.errors import IncompleteError
from scenemosaic.keys import check_key
from scenemosaic.retry import Effects, RetryPolicy, retrying, system_effects
from scenemosaic.roots import Root
from scenemosaic.stores.azure_blocks import AZURE_LIMITS, BlockList
from scenemosaic.stores.azure_probes import AzureProbes
from scenemosaic.stores.azure_requests import (
    AzureOptions,
    Reply,
    Requests,
    condition_arguments,
    content_arguments,
    make_service,
    quoted,
)
from scenemosaic.stores.pieces import bytes_of
from scenemosaic.stores.port import (
    Answer,
    Body,
    Capabilities,
    Condition,
    CopyRun,
    IfAbsent,
    IfMatch,
    ObjectInfo,
    Segment,
    WriteResult,
)
from scenemosaic.stores.s3_answers import ANSWERS, Verdict
from scenemosaic.stores.s3_parts import UploadPart, plan_parts

PAGE_OBJECTS = 1000


def connect(root: Root, options: AzureOptions | None = None) -> "AzureStore":
    """The store of an ``az://`` root, set up from the SDK's standard environment.

    Raises PermanentStoreError where it names no credentials.
    """
    container = make_service(os.environ, root.uri).get_container_client(root.bucket)
    return AzureStore(root, Requests(container, options or AzureOptions()))


class AzureStore:
    """A container's prefix as a store. Safe for threads; one for each process.

    ``policy`` is for what may land twice: blocks, pages of a listing, bytes to gather.
    ``now`` dates the signatures that copies inside the store need, ``nonce`` makes block IDs.
    """

    capabilities = Capabilities(
        if_match=True, versions=True, delete_markers=False, server_side_copy=True
    )

    def __init__(
        self,
        root: Root,
        requests: Requests,
        policy: RetryPolicy | None = None,
        effects: Effects | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        nonce: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self.uri = root.uri
        self._prefix = f"{root.prefix}/" if root.prefix else ""
        self._requests = requests
        self._policy = policy or RetryPolicy()
        self._effects = effects or system_effects()
        self._now = now
        self._nonce = nonce

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"the store of {self.uri} holds a client; open it again from its URI")

    def object_uri(self, key: str) -> str:
        return f"{self.uri}/{check_key(key)}"

    def close(self) -> None:
        self._requests.close()

    def head(self, key: str) -> ObjectInfo | None:
        blob = self._requests.blob(self._full_key(key))
        reply = self._requests.send(
            "GetBlobProperties", self.object_uri(key), None, blob.get_blob_properties
        )
        if reply.verdict is Verdict.ABSENT:
            return None
        found = reply.found
        return ObjectInfo(
            key=key,
            size_bytes=found.size,
            etag=quoted(found.etag),
            version_id=found.version_id,
            content_type=str(found.content_settings.content_type or ""),
            metadata=dict(found.metadata or {}),
            last_modified=_rfc3339(found.last_modified),
        )

    def get(
        self, key: str, offset: int = 0, size_bytes: int | None = None, etag: str | None = None
    ) -> bytes:
        blob = self._requests.blob(self._full_key(key))
        # No bytes cannot be asked for: one is read for the sake of the ETag, and dropped.
        length = None if size_bytes is None else max(size_bytes, 1)
        chosen = {} if etag is None else condition_arguments(IfMatch(etag))
        reply = self._requests.send(
            "GetBlob",
            self.object_uri(key),
            None,
            lambda: blob.download_blob(offset, length, max_concurrency=1, **chosen).readall(),
        )
        if reply.verdict is Verdict.PAST_END:
            return b""
        if reply.verdict is not Verdict.OK:
            pinned = f" (wanted: ETag {etag})" if etag else ""
            raise IncompleteError(f"{self.object_uri(key)} is {reply.verdict.value}{pinned}")
        return reply.found if size_bytes != 0 else b""

    def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
        return self._put(key, body.data, condition, body.content_type, body.metadata)

    def compose(
        self,
        key: str,
        segments: Sequence[Segment],
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        parts = plan_parts(segments, AZURE_LIMITS)
        if not parts or (len(parts) == 1 and isinstance(parts[0], UploadPart)):
            return self._put(key, self._bytes_of(segments), condition, content_type, metadata)
        # Only to save work, and blocks that nobody will commit: the commit has the condition.
        lost = self._lost(key, condition)
        if lost is not None or not _may_match(condition):
            return WriteResult(lost or Answer.REFUSED)
        upload = BlockList(
            requests=self._requests,
            named=self.object_uri(key),
            blob=self._requests.blob(self._full_key(key)),
            nonce=self._nonce(),
            condition=condition,
            content_type=content_type,
            metadata=metadata,
            bytes_of=self._bytes_of,
            source_url=self._source_url,
            policy=self._policy,
            effects=self._effects,
        )
        size_bytes = sum(part.size_bytes for part in parts)
        reply = upload.run(parts)
        return self._result(reply, key, size_bytes, condition, content_type, metadata)

    def probes(self) -> AzureProbes:
        return AzureProbes(self._requests, self.uri, self._prefix)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        token: str | None = None
        while True:
            page, token = self._page(prefix, token)
            for found in page:
                yield ObjectInfo(
                    key=found.name[len(self._prefix) :],
                    size_bytes=found.size,
                    etag=quoted(found.etag),
                    last_modified=_rfc3339(found.last_modified),
                )
            if not token:
                return

    def _page(self, prefix: str, token: str | None) -> tuple[Sequence[Any], str | None]:
        def ask() -> tuple[Sequence[Any], str | None]:
            found = self._requests.container.list_blobs(
                name_starts_with=self._prefix + prefix, results_per_page=PAGE_OBJECTS
            )
            pages: Any = found.by_page(token)
            return list(next(pages, ())), pages.continuation_token

        named = f"{self.uri}/{prefix}"
        return retrying(
            lambda: self._requests.send("ListBlobs", named, None, ask).found,
            self._policy,
            self._effects,
        )

    def _put(
        self,
        key: str,
        data: bytes,
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        blob = self._requests.blob(self._full_key(key))
        if not _may_match(condition):
            return WriteResult(self._lost(key, condition) or Answer.REFUSED)
        reply = self._requests.send(
            "PutBlob",
            self.object_uri(key),
            condition,
            lambda: blob.upload_blob(
                data,
                validate_content="md5",
                **condition_arguments(condition),
                **content_arguments(content_type, metadata),
                **self._requests.options.for_new_object(),
            ),
        )
        return self._result(reply, key, len(data), condition, content_type, metadata)

    def _result(
        self,
        reply: Reply[Any],
        key: str,
        size_bytes: int,
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        if reply.verdict is not Verdict.OK:
            answer = self._looked_up(ANSWERS[reply.verdict], key, condition)
            return WriteResult(answer, None, reply.request_id)
        stored = reply.found
        info = ObjectInfo(
            key=key,
            size_bytes=size_bytes,
            etag=quoted(stored["etag"]),
            version_id=stored.get("version_id"),
            content_type=content_type,
            metadata=dict(metadata),
        )
        return WriteResult(Answer.WRITTEN, info, str(stored.get("request_id", "")))

    def _looked_up(self, answer: Answer, key: str, condition: Condition) -> Answer:
        """The answer made precise by a look at the blob, where the code says too little."""
        # A 412 may mean that nothing is there; lost blocks, that somebody else has committed.
        if answer is Answer.RACING or isinstance(condition, IfMatch):
            return self._lost(key, condition) or answer
        return answer

    def _lost(self, key: str, condition: Condition) -> Answer | None:
        """The refusal that ``condition`` would meet now; None where it would hold."""
        stands = self.head(key)
        if isinstance(condition, IfAbsent):
            return None if stands is None else Answer.REFUSED
        if stands is None:
            return Answer.GONE
        return None if stands.etag == condition.etag else Answer.REFUSED

    def _full_key(self, key: str) -> str:
        return self._prefix + check_key(key)

    def _source_url(self, run: CopyRun) -> str | None:
        return self._requests.source_url(self._full_key(run.key), self._now())

    def _bytes_of(self, pieces: Sequence[Segment]) -> bytes:
        return bytes_of(pieces, self._run)

    def _run(self, run: CopyRun) -> bytes:
        return retrying(
            lambda: self.get(run.key, run.offset, run.size_bytes, run.etag),
            self._policy,
            self._effects,
        )


def _may_match(condition: Condition) -> bool:
    # A wildcard would turn IfMatch into: whatever is there.
    return isinstance(condition, IfAbsent) or condition.etag.strip('"') not in ("", "*")


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
