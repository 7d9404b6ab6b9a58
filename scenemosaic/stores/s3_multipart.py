"""Carrying out a plan of parts: create, send, complete by condition; or abort, always."""

import base64
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from scenemosaic.errors import IncompleteError, MissingCapability, StoreError
from scenemosaic.stores.pieces import Gathered, RunCheck, Seen
from scenemosaic.stores.port import Condition, CopyRun, Segment
from scenemosaic.stores.s3_answers import Verdict
from scenemosaic.stores.s3_parts import CopyPart, Part
from scenemosaic.stores.s3_requests import Reply, Requests
from scenemosaic.waiting.retry import Effects, RetryPolicy, retrying

T = TypeVar("T")
PARALLEL_PARTS = 4

# A part as the completion names it, and what was seen of its bytes.
Sent = tuple[dict[str, Any], tuple[Seen, ...]]

_log = logging.getLogger(__name__)


class _EndedByAnother(Exception):
    """The upload is no more: a successor or a cleaner ended it."""


@dataclass(frozen=True, slots=True)
class Multipart:
    """One multipart upload to be: where to, and how its bytes and copies are had.

    A part may land twice without harm, so parts are retried here by ``policy``;
    what creates and completes the upload is sent once. ``begun`` is told the upload's
    ID before its first part; what it raises ends the upload.
    """

    requests: Requests
    named: str
    full_key: str
    condition: Condition
    new_object: Mapping[str, Any]
    gather: Callable[[Sequence[Segment]], Gathered]
    full_key_of: Callable[[str], str]
    policy: RetryPolicy
    effects: Effects
    begun: Callable[[str], None] = lambda upload_id: None

    def run(self, parts: Sequence[Part], check: RunCheck) -> Reply:
        """The reply to the completion; RACING where somebody ended the upload meanwhile.

        ``check`` is told of every part's bytes before that. Leaves no open upload
        unless its abort fails, too.
        """
        created = self._send("CreateMultipartUpload", **self.new_object)
        upload_id = str(created.response["UploadId"])
        try:
            self.begun(upload_id)
            sent = self._send_parts(parts, upload_id)
            for _, seen in sent:
                check.saw(seen)
            self._check_lengths(parts, upload_id)
            reply = self._send(
                "CompleteMultipartUpload",
                self.condition,
                UploadId=upload_id,
                MultipartUpload={"Parts": [part for part, _ in sent]},
            )
        except _EndedByAnother:
            _log.info("upload %s of %s was ended by somebody else", upload_id, self.named)
            self._abort(upload_id)
            return Reply(Verdict.RACING, {})
        except BaseException:
            self._abort(upload_id)
            raise
        if reply.verdict is not Verdict.OK:
            self._abort(upload_id)
        return reply

    def _send(self, operation: str, condition: Condition | None = None, **parameters: Any) -> Reply:
        return self.requests.send(operation, self.named, condition, Key=self.full_key, **parameters)

    def _part(self, operation: str, **parameters: Any) -> Reply:
        reply = self._send(operation, **parameters)
        if reply.verdict is Verdict.RACING:
            raise _EndedByAnother
        return reply

    def _send_parts(self, parts: Sequence[Part], upload_id: str) -> list[Sent]:
        with ThreadPoolExecutor(PARALLEL_PARTS) as pool:
            sent: list[Future[Sent]] = [
                pool.submit(self._send_part, number, part, upload_id)
                for number, part in enumerate(parts, start=1)
            ]
            try:
                finished, _ = wait(sent, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
            return [future.result() for future in sent]

    def _send_part(self, number: int, part: Part, upload_id: str) -> Sent:
        where: dict[str, Any] = {"PartNumber": number, "UploadId": upload_id}
        if isinstance(part, CopyPart):
            answer = self._again(lambda: self._copy(part.run, where))
            return _sent(number, answer, (Seen(part.size_bytes, _crc_of(answer)),))
        gathered = self.gather(part.pieces)
        where |= self.requests.checksum_of(gathered.data)
        answer = self._again(lambda: self._part("UploadPart", Body=gathered.data, **where).response)
        return _sent(number, answer, gathered.seen)

    def _again(self, call: Callable[[], T]) -> T:
        return retrying(call, self.policy, self.effects)

    def _copy(self, run: CopyRun, where: Mapping[str, Any]) -> Mapping[str, Any]:
        reply = self._part(
            "UploadPartCopy",
            CopySource=self.requests.copy_source(self.full_key_of(run.key)),
            CopySourceIfMatch=run.etag,
            CopySourceRange=f"bytes={run.offset}-{run.offset + run.size_bytes - 1}",
            copied_bytes=run.size_bytes,
            **where,
        )
        if reply.verdict is not Verdict.OK:
            raise IncompleteError(
                f"{run.key} is {reply.verdict.value}, and {self.named} needs "
                f"{run.size_bytes} bytes of its version {run.etag}"
            )
        result: Mapping[str, Any] = reply.response.get("CopyPartResult", {})
        if "ETag" not in result:
            raise MissingCapability(f"{self.named}: the store did not copy a part (UploadPartCopy)")
        return result

    def _check_lengths(self, parts: Sequence[Part], upload_id: str) -> None:
        """Compare what the store says it holds with the plan: a copy may have come out short."""
        stored = list(self._stored_lengths(upload_id))
        wanted = [(number, part.size_bytes) for number, part in enumerate(parts, start=1)]
        if stored != wanted:
            wrong = [number for number, _ in set(wanted) ^ set(stored)]
            raise IncompleteError(
                f"{self.named}: part {min(wrong)} is missing or has another length than "
                "planned; is a tile shorter than its row says? Verify the job"
            )

    def _stored_lengths(self, upload_id: str) -> Iterator[tuple[int, int]]:
        marker: dict[str, Any] = {}
        while True:
            page = self._stored_page(upload_id, marker)
            for part in page.get("Parts", ()):
                yield int(part["PartNumber"]), int(part["Size"])
            if not page.get("IsTruncated"):
                return
            marker = {"PartNumberMarker": page["NextPartNumberMarker"]}

    def _stored_page(self, upload_id: str, marker: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._again(lambda: self._part("ListParts", UploadId=upload_id, **marker).response)

    def _abort(self, upload_id: str) -> None:
        try:
            self._again(lambda: self._send("AbortMultipartUpload", UploadId=upload_id))
        except StoreError as error:
            # The outcome that is on its way matters more; whoever cleans up needs the ID.
            _log.warning("upload %s of %s is still open: %s", upload_id, self.named, error)


def _sent(number: int, answer: Mapping[str, Any], seen: tuple[Seen, ...]) -> Sent:
    return {"PartNumber": number, "ETag": answer["ETag"], **_checksums(answer)}, seen


def _crc_of(answer: Mapping[str, Any]) -> int | None:
    """The CRC-32 that S3 itself made of a part's bytes, where it says so."""
    said = answer.get("ChecksumCRC32")
    return int.from_bytes(base64.b64decode(said), "big") if said else None


def _checksums(answer: Mapping[str, Any]) -> dict[str, str]:
    """A part's own checksums, which Complete wants repeated."""
    return {
        name: value
        for name, value in answer.items()
        if name.startswith("Checksum") and name != "ChecksumType"
    }
