"""The real S3 adapter on the model store: its requests are answered here, one by one."""

import io
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest import mock

from scenemosaic.errors import TransientStoreError
from scenemosaic.stores import s3
from scenemosaic.stores.port import Answer, Condition, WriteResult
from scenemosaic.stores.s3_answers import Verdict, classify
from scenemosaic.stores.s3_parts import Limits
from scenemosaic.stores.s3_requests import Reply, S3Options
from scenemosaic.waiting.retry import Effects, RetryPolicy
from tests.faults.model.gate import Call, Gate
from tests.faults.model.ports import ModelStore

# So small that the smallest mosaic has parts of both kinds.
LIMITS = Limits(min_part_bytes=1024, max_copy_bytes=1 << 20, gather_bytes=4096)
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
# Requests of a worker's own thread, which may meet a fault. Parts go up in threads of their own.
_VERBS = {
    "PutObject": "put",
    "HeadObject": "head",
    "CreateMultipartUpload": "begin",
    "CompleteMultipartUpload": "compose",
    "AbortMultipartUpload": "abort",
    "ListMultipartUploads": "uploads",
    "ListObjectVersions": "versions",
    "ListObjectsV2": "list",
}
_REFUSALS = {Answer.REFUSED: ("PreconditionFailed", 412), Answer.GONE: ("NoSuchKey", 404)}


@dataclass
class Upload:
    """``doomed``: its object stood there when it began, so that only gc may be left to end it."""

    key: str
    content_type: str
    metadata: Mapping[str, str]
    doomed: bool
    parts: dict[int, bytes] = field(default_factory=dict)


@dataclass
class Uploads:
    """The multipart uploads of one store."""

    open: dict[str, Upload] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))


class Refused(Exception):
    def __init__(self, code: str, status: int) -> None:
        super().__init__(code)
        self.code, self.status = code, status


class ModelRequests:
    """What :class:`scenemosaic.stores.s3_requests.Requests` is to the adapter."""

    options = S3Options()

    def __init__(self, store: ModelStore, uploads: Uploads, gate: Gate) -> None:
        self._store, self._uploads, self._gate = store, uploads, gate

    def checksum_of(self, data: bytes) -> dict[str, str]:
        """This store takes none."""
        return {}

    def send(
        self,
        operation: str,
        named: str,
        condition: Condition | None = None,
        *,
        copied_bytes: int = 0,
        **given: Any,
    ) -> Reply:
        answer: Callable[..., Any] = getattr(self, operation)

        def run() -> Reply:
            try:
                return Reply(Verdict.OK, answer(condition, **given))
            except Refused as refused:
                verdict = classify(refused.code, refused.status, operation, condition)
                if verdict is Verdict.TRANSIENT:
                    raise TransientStoreError(f"{operation} of {named}: {refused}") from None
                return Reply(verdict, {})

        if operation not in _VERBS:
            return run()
        target = str(given.get("Key", given.get("Prefix")))
        reply = self._gate(Call("store", _VERBS[operation], target, run))
        return Reply(Verdict.RACING, {}) if isinstance(reply, WriteResult) else reply

    def read(self, reply: Reply, named: str) -> bytes:
        return bytes(reply.response["Body"].read())

    def copy_source(self, full_key: str) -> str:
        return full_key

    def close(self) -> None:
        pass

    def PutObject(self, condition: Any, *, Key: str, Body: bytes, **new: Any) -> dict[str, Any]:
        return self._write(Key, Body, condition, new["ContentType"], new["Metadata"])

    def HeadObject(self, _: object, *, Key: str) -> dict[str, Any]:
        found = self._store.head(Key)
        if found is None:
            raise Refused("404", 404)
        return {
            "ContentLength": found.size_bytes,
            "ETag": found.etag,
            "VersionId": found.version_id,
            "ContentType": found.content_type,
            "Metadata": dict(found.metadata),
            "LastModified": WHEN,
        }

    def GetObject(
        self, _: object, *, Key: str, Range: str = "bytes=0-", IfMatch: str | None = None
    ) -> dict[str, Any]:
        return {"Body": io.BytesIO(self._range(Key, IfMatch, Range))}

    def CreateMultipartUpload(
        self, _: object, *, Key: str, ContentType: str, Metadata: dict[str, str]
    ) -> dict[str, Any]:
        upload_id = f"u{next(self._uploads.numbers)}"
        doomed = self._store.head(Key) is not None
        self._uploads.open[upload_id] = Upload(Key, ContentType, Metadata, doomed)
        return {"UploadId": upload_id}

    def UploadPart(
        self, _: object, *, Key: str, UploadId: str, PartNumber: int, Body: bytes
    ) -> dict[str, Any]:
        self._upload(UploadId).parts[PartNumber] = Body
        return {"ETag": f"p{PartNumber}"}

    def UploadPartCopy(
        self, _: object, *, Key: str, UploadId: str, PartNumber: int, CopySource: str,
        CopySourceIfMatch: str, CopySourceRange: str,
    ) -> dict[str, Any]:  # fmt: skip
        data = self._range(CopySource, CopySourceIfMatch, CopySourceRange)
        self._upload(UploadId).parts[PartNumber] = data
        return {"CopyPartResult": {"ETag": f"p{PartNumber}"}}

    def ListParts(self, _: object, *, Key: str, UploadId: str) -> dict[str, Any]:
        parts = sorted(self._upload(UploadId).parts.items())
        return {"Parts": [{"PartNumber": number, "Size": len(data)} for number, data in parts]}

    def CompleteMultipartUpload(
        self, condition: Any, *, Key: str, UploadId: str, MultipartUpload: dict[str, Any]
    ) -> dict[str, Any]:
        upload = self._upload(UploadId)
        wanted = [part["PartNumber"] for part in MultipartUpload["Parts"]]
        data = b"".join(upload.parts[number] for number in wanted)
        said = self._write(Key, data, condition, upload.content_type, upload.metadata)
        del self._uploads.open[UploadId]
        return said

    def AbortMultipartUpload(self, _: object, *, Key: str, UploadId: str) -> dict[str, Any]:
        self._upload(UploadId)
        del self._uploads.open[UploadId]
        return {}

    def ListMultipartUploads(self, _: object, *, Prefix: str) -> dict[str, Any]:
        found = [
            {"Key": upload.key, "UploadId": upload_id, "Initiated": WHEN}
            for upload_id, upload in self._uploads.open.items()
            if upload.key.startswith(Prefix)
        ]
        return {"Uploads": found, "ResponseMetadata": {}}

    def ListObjectsV2(self, _: object, *, Prefix: str) -> dict[str, Any]:
        found = [
            {"Key": one.key, "Size": one.size_bytes, "ETag": one.etag, "LastModified": WHEN}
            for one in self._store.list(Prefix)
        ]
        return {"Contents": found}

    def ListObjectVersions(self, _: object, *, Prefix: str) -> dict[str, Any]:
        found = [
            {"Key": key, "VersionId": one.info.version_id, "IsLatest": one is versions[-1]}
            for key, versions in self._store.history.items()
            if key.startswith(Prefix)
            for one in versions
        ]
        return {"Versions": found}

    def _upload(self, upload_id: str) -> Upload:
        if upload_id not in self._uploads.open:
            raise Refused("NoSuchUpload", 404)
        return self._uploads.open[upload_id]

    def _range(self, key: str, etag: str | None, wanted: str) -> bytes:
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        size = int(last) + 1 - int(first) if last else None
        return self._store.get(key, int(first), size, etag)

    def _write(
        self, key: str, data: bytes, condition: Any, content_type: str, metadata: Mapping[str, str]
    ) -> dict[str, Any]:
        result = self._store.write(key, data, condition, content_type, metadata)
        if result.info is None:
            raise Refused(*_REFUSALS[result.answer])
        return {"ETag": result.info.etag, "VersionId": result.info.version_id}


def s3_store(
    store: ModelStore, uploads: Uploads, gate: Gate, policy: RetryPolicy, effects: Effects
) -> s3.S3Store:
    """The adapter over the model, under the model's URI."""
    root: Any = SimpleNamespace(uri=store.uri, prefix="")
    requests: Any = ModelRequests(store, uploads, gate)
    return s3.S3Store(root, requests, policy, effects)


def small_parts() -> Any:
    """A patch under which the adapter needs no 5 MiB for a part."""
    return mock.patch.object(s3, "S3_LIMITS", LIMITS)
