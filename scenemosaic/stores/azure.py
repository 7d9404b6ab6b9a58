"""The Azure Blob store: conditions on ETags, one attempt a request."""

import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from scenemosaic.access import ENVIRONMENT, Access, credentials_of
from scenemosaic.errors import IncompleteError
from scenemosaic.moments import rfc3339
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
    options_of,
    quoted,
)
from scenemosaic.stores.pieces import RunCheck
from scenemosaic.stores.port import (
    Answer,
    Body,
    Capabilities,
    Condition,
    Copying,
    CopyRun,
    IfAbsent,
    IfMatch,
    ObjectInfo,
    Segment,
    Version,
    WriteResult,
)
from scenemosaic.stores.remote import RemoteStore
from scenemosaic.stores.s3_answers import ANSWERS, Verdict
from scenemosaic.stores.s3_parts import UploadPart, plan_parts
from scenemosaic.waiting.deadlines import deadlines_from
from scenemosaic.waiting.retry import Effects, RetryPolicy
from scenemosaic.waiting.service_clock import now_utc

PAGE_OBJECTS = 1000


def connect(
    root: Root, options: AzureOptions | None = None, access: Access = ENVIRONMENT
) -> "AzureStore":
    """The store of an ``az://`` root; what ``access`` leaves out is the SDK's environment's.

    Raises PermanentStoreError where it names no credentials.
    """
    deadlines = deadlines_from(os.environ)
    # A block's credentials are said as the environment would say them.
    environment = credentials_of(access, dict) or os.environ
    container = make_service(environment, root.uri, deadlines).get_container_client(root.bucket)
    return AzureStore(root, Requests(container, options or options_of(access), deadlines))


class AzureStore(RemoteStore[Requests]):
    """A container's prefix.

    ``now`` dates the signatures that copies inside the store need, ``nonce`` makes block IDs.
    """

    capabilities = Capabilities(
        if_match=True,
        versions=True,
        delete_markers=False,
        server_side_copy=True,
        # Each is a request, of which a long run takes one for AZURE_LIMITS.max_copy_bytes.
        copying=Copying(AZURE_LIMITS.max_copy_bytes // 4, AZURE_LIMITS.max_parts // 2),
    )

    def __init__(
        self,
        root: Root,
        requests: Requests,
        policy: RetryPolicy | None = None,
        effects: Effects | None = None,
        now: Callable[[], datetime] = now_utc,
        nonce: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        super().__init__(root, requests, policy, effects)
        self._now = now
        self._nonce = nonce

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
            last_modified=rfc3339(found.last_modified),
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
        blob = self._requests.blob(self._full_key(key))
        if not _may_match(condition):
            return WriteResult(self._lost(key, condition) or Answer.REFUSED)
        reply = self._requests.send(
            "PutBlob",
            self.object_uri(key),
            condition,
            lambda: blob.upload_blob(
                body.data,
                validate_content="md5",
                **condition_arguments(condition),
                **content_arguments(body.content_type, body.metadata),
                **self._requests.options.for_new_object(),
            ),
        )
        size_bytes = len(body.data)
        return self._result(reply, key, size_bytes, condition, body.content_type, body.metadata)

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
            return self._put_gathered(key, segments, condition, content_type, metadata)
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
            gather=self._gather,
            source_url=self._source_url,
            policy=self._policy,
            effects=self._effects,
        )
        size_bytes = sum(part.size_bytes for part in parts)
        reply = upload.run(parts, RunCheck(segments))
        return self._result(reply, key, size_bytes, condition, content_type, metadata)

    def probes(self) -> AzureProbes:
        return AzureProbes(self._requests, self.uri, self._prefix)

    def versions(self, prefix: str) -> Iterator[Version]:
        return self.probes().versions(prefix)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        token: str | None = None
        while True:
            page, token = self._page(prefix, token)
            for found in page:
                yield ObjectInfo(
                    key=found.name[len(self._prefix) :],
                    size_bytes=found.size,
                    etag=quoted(found.etag),
                    last_modified=rfc3339(found.last_modified),
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
        return self._again(lambda: self._requests.send("ListBlobs", named, None, ask).found)

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

    def _source_url(self, run: CopyRun) -> str | None:
        return self._requests.source_url(self._full_key(run.key), self._now())


def _may_match(condition: Condition) -> bool:
    # A wildcard would turn IfMatch into: whatever is there.
    return isinstance(condition, IfAbsent) or condition.etag.strip('"') not in ("", "*")
