"""The S3 store: boto3, one attempt a request, conditions checked by the service."""

import base64
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from scenemosaic.access import ENVIRONMENT, Access
from scenemosaic.errors import IncompleteError, TransientStoreError
from scenemosaic.moments import rfc3339
from scenemosaic.roots import Root
from scenemosaic.stores.pieces import RunCheck
from scenemosaic.stores.port import (
    Body,
    Capabilities,
    Condition,
    ObjectInfo,
    Segment,
    Unfinished,
    Version,
    WriteResult,
)
from scenemosaic.stores.remote import RemoteStore
from scenemosaic.stores.s3_answers import ANSWERS, Verdict
from scenemosaic.stores.s3_multipart import Multipart
from scenemosaic.stores.s3_parts import (
    COPYING,
    S3_LIMITS,
    Limits,
    UploadPart,
    in_stages,
    plan_parts,
)
from scenemosaic.stores.s3_probes import S3Probes
from scenemosaic.stores.s3_requests import Reply, Requests, S3Options, make_client, options_of
from scenemosaic.stores.s3_uploads import open_uploads
from scenemosaic.waiting.deadlines import deadlines_from
from scenemosaic.waiting.retry import Effects, RetryPolicy


def connect(
    root: Root, options: S3Options | None = None, access: Access = ENVIRONMENT
) -> "S3Store":
    """The store of an ``s3://`` root; what ``access`` leaves out is the SDK's environment's."""
    options = options or options_of(access)
    deadlines = deadlines_from(os.environ)
    client = make_client(options, root.uri, deadlines, access)
    return S3Store(root, Requests(client, root.bucket, options, deadlines))


class S3Store(RemoteStore[Requests]):
    """A bucket's prefix; ``begun`` is told each large write's upload ID."""

    capabilities = Capabilities(
        if_match=True,
        versions=True,
        delete_markers=True,
        server_side_copy=True,
        copying=COPYING,
    )

    def __init__(
        self,
        root: Root,
        requests: Requests,
        policy: RetryPolicy | None = None,
        effects: Effects | None = None,
        begun: Callable[[str], None] = lambda upload_id: None,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(root, requests, policy, effects)
        self._root = root
        self._begun = begun
        self._limits = limits or S3_LIMITS

    def head(self, key: str) -> ObjectInfo | None:
        reply = self._requests.send("HeadObject", self.object_uri(key), Key=self._full_key(key))
        if reply.verdict is Verdict.ABSENT:
            return None
        found = reply.response
        return ObjectInfo(
            key=key,
            size_bytes=int(found["ContentLength"]),
            etag=_etag(found, key),
            version_id=found.get("VersionId"),
            content_type=str(found.get("ContentType", "")),
            metadata=dict(found.get("Metadata", {})),
            last_modified=rfc3339(found["LastModified"]),
        )

    def get(
        self, key: str, offset: int = 0, size_bytes: int | None = None, etag: str | None = None
    ) -> bytes:
        named = self.object_uri(key)
        chosen = _range(offset, size_bytes)
        if etag is not None:
            chosen["IfMatch"] = etag
        reply = self._requests.send("GetObject", named, Key=self._full_key(key), **chosen)
        if reply.verdict is Verdict.PAST_END:
            return b""
        if reply.verdict is not Verdict.OK:
            pinned = f" (wanted: ETag {etag})" if etag else ""
            raise IncompleteError(f"{named} is {reply.verdict.value}{pinned}")
        data = self._requests.read(reply, named)
        return data if size_bytes != 0 else b""

    def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
        reply = self._requests.send(
            "PutObject",
            self.object_uri(key),
            condition,
            Key=self._full_key(key),
            Body=body.data,
            ChecksumSHA256=base64.b64encode(bytes.fromhex(body.sha256)).decode(),
            **self._new_object(body.content_type, body.metadata),
        )
        size_bytes = len(body.data)
        return _result(reply, key, size_bytes, body.content_type, body.metadata)

    def compose(
        self,
        key: str,
        segments: Sequence[Segment],
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        parts = plan_parts(segments, self._limits)
        if not parts or (len(parts) == 1 and isinstance(parts[0], UploadPart)):
            return self._put_gathered(key, segments, condition, content_type, metadata)
        upload = Multipart(
            requests=self._requests,
            named=self.object_uri(key),
            full_key=self._full_key(key),
            condition=condition,
            new_object=self._new_object(content_type, metadata),
            gather=self._gather,
            full_key_of=self._full_key,
            policy=self._policy,
            effects=self._effects,
            begun=self._begun,
        )
        size_bytes = sum(part.size_bytes for part in parts)
        reply = upload.run(parts, RunCheck(segments))
        return _result(reply, key, size_bytes, content_type, metadata)

    def announcing(self, begun: Callable[[str], None]) -> "S3Store":
        """The port's contract; the client is shared, and closed by either store."""
        return S3Store(self._root, self._requests, self._policy, self._effects, begun, self._limits)

    def stages(self, segments: Sequence[Segment]) -> Iterator[tuple[Segment, ...]]:
        return in_stages(segments, self._limits)

    def unfinished(self, prefix: str = "") -> Iterator[Unfinished]:
        pages = open_uploads(self._requests, f"{self.uri}/{prefix}", self._prefix + prefix,
                             self._policy, self._effects)  # fmt: skip
        for found in pages:
            yield Unfinished(found.key[len(self._prefix) :], found.upload_id, found.age_s)

    def end(self, key: str, upload_id: str) -> bool:
        named, full = self.object_uri(key), self._full_key(key)
        reply = self._again(
            lambda: self._requests.send("AbortMultipartUpload", named, Key=full, UploadId=upload_id)
        )
        return reply.verdict is Verdict.OK

    def probes(self) -> S3Probes:
        return S3Probes(self._requests, self.uri, self._prefix)

    def versions(self, prefix: str) -> Iterator[Version]:
        return self.probes().versions(prefix)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        token: dict[str, Any] = {}
        while True:
            page = self._page(prefix, token)
            for found in page.get("Contents", ()):
                yield ObjectInfo(
                    key=found["Key"][len(self._prefix) :],
                    size_bytes=int(found["Size"]),
                    etag=str(found["ETag"]),
                    last_modified=rfc3339(found["LastModified"]),
                )
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def _page(self, prefix: str, token: Mapping[str, Any]) -> Mapping[str, Any]:
        named, full = f"{self.uri}/{prefix}", self._prefix + prefix
        return self._again(
            lambda: self._requests.send("ListObjectsV2", named, Prefix=full, **token).response
        )

    def _new_object(self, content_type: str, metadata: Mapping[str, str]) -> dict[str, Any]:
        chosen = self._requests.options.for_new_object()
        return {"ContentType": content_type, "Metadata": dict(metadata), **chosen}


def _range(offset: int, size_bytes: int | None) -> dict[str, Any]:
    if size_bytes is None:
        return {"Range": f"bytes={offset}-"} if offset else {}
    # S3 cannot be asked for no bytes: one is read for the sake of the ETag, and dropped.
    return {"Range": f"bytes={offset}-{offset + max(size_bytes, 1) - 1}"}


def _result(
    reply: Reply, key: str, size_bytes: int, content_type: str, metadata: Mapping[str, str]
) -> WriteResult:
    answer = ANSWERS[reply.verdict]
    if reply.verdict is not Verdict.OK:
        return WriteResult(answer, None, reply.request_id)
    info = ObjectInfo(
        key=key,
        size_bytes=size_bytes,
        etag=_etag(reply.response, key),
        version_id=reply.response.get("VersionId"),
        content_type=content_type,
        metadata=dict(metadata),
    )
    return WriteResult(answer, info, reply.request_id)


def _etag(response: Mapping[str, Any], key: str) -> str:
    if "ETag" not in response:
        raise TransientStoreError(f"{key}: the store's answer has no ETag")
    return str(response["ETag"])
