"""A large object by a resumable session: start, chunks in order, the condition at its end."""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import google_crc32c

from scenemosaic.errors import StoreError, TransientStoreError
from scenemosaic.stores.gcs_requests import Reply, Requests, encoded_crc
from scenemosaic.stores.pieces import Gathered, RunCheck, in_chunks
from scenemosaic.stores.port import Condition, Segment
from scenemosaic.stores.s3_answers import Verdict
from scenemosaic.waiting.retry import Effects, Pacer, RetryPolicy, retrying

# A multiple of 256 KiB, as Cloud Storage wants it.
CHUNK_BYTES = 16 << 20
READ_AHEAD = 3

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Session:
    """One resumable upload to be. Chunks may be sent again, as the session counts bytes.

    Cloud Storage checks the condition when the session starts, and again, in the very
    request that brings its last byte, before the object comes to be.
    """

    requests: Requests
    named: str
    condition: Condition
    resource: Mapping[str, Any]
    size_bytes: int
    gather: Callable[[Sequence[Segment]], Gathered]
    policy: RetryPolicy
    effects: Effects

    def run(self, segments: Sequence[Segment]) -> Reply:
        """The reply to the start where that was refused, else to the last chunk."""
        started = self.requests.start(self.named, self.condition, self.resource, self.size_bytes)
        if started.verdict is not Verdict.OK:
            return started
        url = started.headers.get("Location")
        if url is None:
            raise TransientStoreError(f"{self.named}: an upload was started without its URL")
        try:
            reply = self._carry_all(url, segments)
        except BaseException:
            self._cancel(url)
            raise
        if reply.verdict is not Verdict.OK:
            self._cancel(url)
        return reply

    def _carry_all(self, url: str, segments: Sequence[Segment]) -> Reply:
        offset = crc = 0
        check = RunCheck(segments)
        with ThreadPoolExecutor(READ_AHEAD) as pool:
            try:
                for chunk in self._read(pool, segments):
                    # Before it is sent: the last one makes the object.
                    check.saw(chunk.seen)
                    data = chunk.data
                    crc = google_crc32c.extend(crc, data)
                    reply = self._carry(url, data, offset, crc)
                    if reply.status != 308:
                        return reply
                    offset += len(data)
            finally:
                pool.shutdown(cancel_futures=True)
        raise TransientStoreError(f"{self.named}: the upload has all bytes and is not finished")

    def _read(self, pool: ThreadPoolExecutor, segments: Sequence[Segment]) -> Iterator[Gathered]:
        """The chunks in order, a few of them read ahead."""
        waiting: deque[Future[Gathered]] = deque()
        for pieces in in_chunks(segments, CHUNK_BYTES):
            waiting.append(pool.submit(self.gather, pieces))
            if len(waiting) > READ_AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _carry(self, url: str, data: bytes, offset: int, crc: int) -> Reply:
        """Send one chunk until the session holds all of it, or has ended."""
        pacer = Pacer(self.policy, self.effects)
        held = 0
        while True:
            try:
                reply = self._put(url, data[held:], offset + held, crc)
            except TransientStoreError as error:
                if not pacer.again(error.retry_after_s):
                    raise
                reply = retrying(lambda: self._ask(url), self.policy, self.effects)
            if reply.status != 308:
                return reply
            now_held = _held_bytes(reply) - offset
            if now_held == len(data):
                return reply
            if not held <= now_held < len(data) or (now_held == held and not pacer.again()):
                raise TransientStoreError(f"{self.named}: the upload lost bytes that it had")
            held = now_held

    def _put(self, url: str, data: bytes, start: int, crc: int) -> Reply:
        end = start + len(data)
        headers = {"Content-Range": f"bytes {start}-{end - 1}/{self.size_bytes}"}
        if end == self.size_bytes:
            headers["X-Goog-Hash"] = f"crc32c={encoded_crc(crc)}"
        return self._upload_chunk(url, headers, data)

    def _ask(self, url: str) -> Reply:
        """What the session holds (308), or the object that it became."""
        return self._upload_chunk(url, {"Content-Range": f"bytes */{self.size_bytes}"}, b"")

    def _upload_chunk(self, url: str, headers: Mapping[str, str], data: bytes) -> Reply:
        # The session itself carries the condition; it is given for the answer's meaning.
        return self.requests.send(
            "UploadChunk", self.named, self.condition, url=url, headers=headers, data=data
        )

    def _cancel(self, url: str) -> None:
        try:
            self.requests.send("CancelUpload", self.named, url=url)
        except StoreError as error:
            # The outcome that is on its way matters more; the session ends by itself in a week.
            _log.warning("an upload of %s is still open: %s", self.named, error)


def _held_bytes(reply: Reply) -> int:
    last = reply.headers.get("Range", "").rpartition("-")[2]
    return int(last) + 1 if last.isdecimal() else 0
