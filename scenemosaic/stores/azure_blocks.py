"""A large blob as a list of blocks: staged in any order, committed by condition."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from azure.storage.blob import BlobBlock, BlobClient

from scenemosaic.errors import IncompleteError, PermanentStoreError
from scenemosaic.stores.azure_requests import (
    Reply,
    Requests,
    condition_arguments,
    content_arguments,
    quoted,
)
from scenemosaic.stores.pieces import Gathered, RunCheck, Seen
from scenemosaic.stores.port import Condition, CopyRun, Segment
from scenemosaic.stores.s3_answers import Verdict
from scenemosaic.stores.s3_parts import CopyPart, Limits, Part
from scenemosaic.waiting.retry import Effects, RetryPolicy, retrying

PARALLEL_BLOCKS = 4
# 50,000 blocks of 16 MiB make 781 GiB. Each block fits in memory, should it have to be streamed.
AZURE_LIMITS = Limits(
    min_part_bytes=1 << 20, max_copy_bytes=16 << 20, gather_bytes=16 << 20, max_parts=50_000
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BlockList:
    """One block list to be. ``nonce`` is this very upload's: its block IDs are nobody else's.

    Blocks that are never committed are seen by nobody; Azure drops them after a week,
    and whenever another write to the same blob is committed.
    """

    requests: Requests
    named: str
    blob: BlobClient
    nonce: str
    condition: Condition
    content_type: str
    metadata: Mapping[str, str]
    gather: Callable[[Sequence[Segment]], Gathered]
    source_url: Callable[[CopyRun], str | None]
    policy: RetryPolicy
    effects: Effects
    _no_copies: threading.Event = field(default_factory=threading.Event)

    def run(self, parts: Sequence[Part], check: RunCheck) -> Reply[Mapping[str, Any]]:
        """The reply to the commit; RACING where another commit threw our blocks away.

        ``check`` is told of every block's bytes before that.
        """
        with ThreadPoolExecutor(PARALLEL_BLOCKS) as pool:
            staged = [pool.submit(self._stage, *numbered) for numbered in enumerate(parts)]
            try:
                finished, _ = wait(staged, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
            finally:
                pool.shutdown(cancel_futures=True)
        for future in staged:
            check.saw(future.result())
        if not self._holds_all(parts):
            return Reply(Verdict.RACING)
        blocks = [BlobBlock(self._id(number)) for number in range(len(parts))]
        finish_s = self.requests.deadlines.finish_s
        return self._send("PutBlockList", lambda: self._commit(blocks), self.condition, finish_s)

    def _commit(self, blocks: list[BlobBlock]) -> Mapping[str, Any]:
        return self.blob.commit_block_list(
            blocks,
            **condition_arguments(self.condition),
            **content_arguments(self.content_type, self.metadata),
            **self.requests.options.for_new_object(),
        )

    def _id(self, number: int) -> str:
        return f"{self.nonce}{number:05d}"

    def _stage(self, number: int, part: Part) -> tuple[Seen, ...]:
        if isinstance(part, CopyPart) and self._copied(number, part.run):
            return (Seen(part.size_bytes),)
        gathered = self.gather([part.run] if isinstance(part, CopyPart) else part.pieces)
        self._retrying("PutBlock", lambda: self._put_block(number, gathered.data))
        return gathered.seen

    def _put_block(self, number: int, data: bytes) -> object:
        chosen = self.requests.options.for_blocks()
        return self.blob.stage_block(
            self._id(number), data, len(data), validate_content="md5", **chosen
        )

    def _copied(self, number: int, run: CopyRun) -> bool:
        """Whether the store copied the run by itself. False: it has to be streamed."""
        url = None if self._no_copies.is_set() else self.source_url(run)
        if url is None:
            return False
        total_s = self.requests.deadlines.copying_s(run.size_bytes)
        try:
            reply = self._retrying(
                "PutBlockFromURL", lambda: self._put_from(url, number, run), total_s
            )
        except PermanentStoreError as error:
            # A firewall or a policy may keep the store from reading its own blob by URL.
            if not self._no_copies.is_set():
                _log.warning("no copies inside the store, the bytes are streamed: %s", error)
            self._no_copies.set()
            return False
        if reply.verdict is not Verdict.OK:
            raise IncompleteError(
                f"{run.key} is {reply.verdict.value}, and {self.named} needs "
                f"{run.size_bytes} bytes of its version {run.etag}"
            )
        return True

    def _put_from(self, url: str, number: int, run: CopyRun) -> object:
        return self.blob.stage_block_from_url(
            self._id(number),
            url,
            source_offset=run.offset,
            source_length=run.size_bytes,
            headers={"x-ms-source-if-match": quoted(run.etag)},
            **self.requests.options.for_blocks(),
        )

    def _holds_all(self, parts: Sequence[Part]) -> bool:
        """Whether the store holds each block; raises where one has another length."""
        reply = self._retrying("GetBlockList", lambda: self.blob.get_block_list("uncommitted"))
        uncommitted = reply.found[1] if reply.verdict is Verdict.OK else []
        stored = {block.id: block.size for block in uncommitted}
        for number, part in enumerate(parts):
            size_bytes = stored.get(self._id(number))
            if size_bytes is None:
                return False
            if size_bytes != part.size_bytes:
                raise IncompleteError(
                    f"{self.named}: block {number} has {size_bytes} bytes where "
                    f"{part.size_bytes} were planned; verify the job"
                )
        return True

    def _retrying(
        self, operation: str, call: Callable[[], Any], total_s: float | None = None
    ) -> Reply[Any]:
        """For what may land twice without harm: blocks, and reading their list."""
        return retrying(
            lambda: self._send(operation, call, None, total_s), self.policy, self.effects
        )

    def _send(
        self,
        operation: str,
        call: Callable[[], Any],
        condition: Condition | None,
        total_s: float | None,
    ) -> Reply[Any]:
        return self.requests.send(operation, self.named, condition, call, total_s)
