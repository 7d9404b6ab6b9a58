"""The Cloud Storage store: conditions on generations, one attempt a request."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scenemosaic.access import ENVIRONMENT, Access
from scenemosaic.errors import IncompleteError
from scenemosaic.roots import Root
from scenemosaic.stores.gcs_probes import GcsProbes
from scenemosaic.stores.gcs_requests import (
    FIELDS,
    GcsOptions,
    Reply,
    Requests,
    make_client,
    options_of,
)
from scenemosaic.stores.gcs_resources import info_of, infos_of, is_generation
from scenemosaic.stores.gcs_upload import CHUNK_BYTES, Session
from scenemosaic.stores.port import (
    Answer,
    Body,
    Capabilities,
    Condition,
    Copying,
    IfAbsent,
    IfMatch,
    ObjectInfo,
    Segment,
    Version,
    WriteResult,
)
from scenemosaic.stores.remote import RemoteStore
from scenemosaic.stores.s3_answers import ANSWERS, Verdict
from scenemosaic.waiting.deadlines import deadlines_from


def connect(
    root: Root, options: GcsOptions | None = None, access: Access = ENVIRONMENT
) -> "GcsStore":
    """The store of a ``gs://`` root; what ``access`` leaves out is the SDK's environment's.

    Raises PermanentStoreError where no usable credentials are found.
    """
    client = make_client(root.uri, access)
    requests = Requests(
        *(client._http, client.api_endpoint, root.bucket, options or options_of(access)),
        deadlines_from(os.environ),
    )
    return GcsStore(root, requests)


class GcsStore(RemoteStore[Requests]):
    """A bucket's prefix.

    An ETag here is the object's generation, in decimal digits, and so is its version ID:
    each write has a new one, whether the bucket keeps old versions or not.
    """

    capabilities = Capabilities(
        if_match=True,
        versions=True,
        delete_markers=False,
        server_side_copy=False,
        # Each is a request, of which a long run takes one for a chunk.
        copying=Copying(CHUNK_BYTES // 4),
    )

    def head(self, key: str) -> ObjectInfo | None:
        named, url = self.object_uri(key), self._url(key)
        reply = self._requests.send("GetObject", named, url=url, params={"fields": FIELDS})
        return (
            None if reply.verdict is Verdict.ABSENT else info_of(key, reply.resource(named), named)
        )

    def get(
        self, key: str, offset: int = 0, size_bytes: int | None = None, etag: str | None = None
    ) -> bytes:
        reply = self._requests.send(
            "ReadObject",
            self.object_uri(key),
            url=self._url(key),
            params={"alt": "media", **_pin(etag)},
            headers=_range(offset, size_bytes),
        )
        verdict = reply.verdict
        # Only what names its generation is taken for it.
        if etag is not None and verdict in (Verdict.OK, Verdict.PAST_END):
            same = reply.headers.get("X-Goog-Generation") in (etag, None)
            verdict = verdict if same and is_generation(etag) else Verdict.CHANGED
        if verdict is Verdict.PAST_END:
            return b""
        if verdict is not Verdict.OK:
            pinned = f" (wanted: generation {etag})" if etag else ""
            raise IncompleteError(f"{self.object_uri(key)} is {verdict.value}{pinned}")
        return reply.body if size_bytes != 0 else b""

    def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
        resource = self._resource(key, body.content_type, body.metadata)
        if not _may_match(condition):
            return self._unmatched(key)
        reply = self._requests.insert(self.object_uri(key), condition, resource, body.data)
        return self._result(key, condition, reply)

    def compose(
        self,
        key: str,
        segments: Sequence[Segment],
        condition: Condition,
        content_type: str,
        metadata: Mapping[str, str],
    ) -> WriteResult:
        size_bytes = sum(segment.size_bytes for segment in segments)
        if size_bytes <= CHUNK_BYTES:
            return self._put_gathered(key, segments, condition, content_type, metadata)
        if not _may_match(condition):
            return self._unmatched(key)
        upload = Session(
            requests=self._requests,
            named=self.object_uri(key),
            condition=condition,
            resource=self._resource(key, content_type, metadata),
            size_bytes=size_bytes,
            gather=self._gather,
            policy=self._policy,
            effects=self._effects,
        )
        return self._result(key, condition, upload.run(segments))

    def probes(self) -> GcsProbes:
        return GcsProbes(self._requests, self.uri, self._prefix)

    def versions(self, prefix: str) -> Iterator[Version]:
        return self.probes().versions(prefix)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        token: dict[str, str] = {}
        while True:
            page = self._page(prefix, token)
            yield from infos_of(page, self._prefix, f"{self.uri}/{prefix}")
            if not page.get("nextPageToken"):
                return
            token = {"pageToken": page["nextPageToken"]}

    def _page(self, prefix: str, token: Mapping[str, str]) -> dict[str, Any]:
        named = f"{self.uri}/{prefix}"
        fields = "items(name,size,generation,updated),nextPageToken"
        params = {"prefix": self._prefix + prefix, "fields": fields, **token}
        url = self._requests.objects_url
        return self._again(
            lambda: self._requests.send("ListObjects", named, url=url, params=params).resource(
                named
            )
        )

    def _resource(self, key: str, content_type: str, metadata: Mapping[str, str]) -> dict[str, Any]:
        return {
            "name": self._full_key(key),
            "contentType": content_type,
            "metadata": dict(metadata),
            **self._requests.options.resource(),
        }

    def _result(self, key: str, condition: Condition, reply: Reply) -> WriteResult:
        if reply.verdict is Verdict.OK:
            named = self.object_uri(key)
            info = info_of(key, reply.resource(named), named)
            return WriteResult(Answer.WRITTEN, info, reply.request_id)
        answer = ANSWERS[reply.verdict]
        if answer is Answer.REFUSED and isinstance(condition, IfMatch):
            # 412 also means that nothing is there to match.
            answer = self._unmatched(key).answer
        return WriteResult(answer, None, reply.request_id)

    def _unmatched(self, key: str) -> WriteResult:
        return WriteResult(Answer.GONE if self.head(key) is None else Answer.REFUSED)

    def _url(self, key: str) -> str:
        return self._requests.object_url(self._full_key(key))


def _may_match(condition: Condition) -> bool:
    # A generation of 0 would turn IfMatch into IfAbsent.
    return isinstance(condition, IfAbsent) or is_generation(condition.etag)


def _pin(etag: str | None) -> dict[str, str]:
    return {"ifGenerationMatch": etag} if etag is not None and is_generation(etag) else {}


def _range(offset: int, size_bytes: int | None) -> dict[str, str]:
    if size_bytes is None:
        return {"Range": f"bytes={offset}-"} if offset else {}
    # No bytes cannot be asked for: one is read for the sake of the generation, and dropped.
    return {"Range": f"bytes={offset}-{offset + max(size_bytes, 1) - 1}"}
