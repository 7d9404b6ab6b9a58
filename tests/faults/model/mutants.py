"""The commit procedure with one mistake each: what the machine has to notice.

Each is a context manager that puts the mistake in place. Those that need a store which
asks for no condition reach it as ``Anyhow``, which no product code can.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from scenemosaic import job, keys, session, windows
from scenemosaic.committing import commit, uploads
from scenemosaic.committing.commit import Committed, Outcome
from scenemosaic.errors import PermanentStoreError, TransientStoreError
from scenemosaic.manifests.port import Existing, Inserted, Row
from scenemosaic.stores.port import Answer, Body, Condition, ObjectInfo, WriteResult
from scenemosaic.stores.s3_multipart import Multipart
from tests.faults.model.ports import Anyhow

Wrap = Callable[[Any, Any], tuple[Any, Any]]
Mutant = Callable[[], AbstractContextManager[Wrap | None]]
MUTANTS: dict[str, tuple[str, Mutant]] = {}
"""By name: a pattern of what is found, and the mistake."""


def mutant(found: str) -> Callable[[Callable[[], Iterator[Wrap | None]]], None]:
    def add(make: Callable[[], Iterator[Wrap | None]]) -> None:
        MUTANTS[make.__name__] = (found, contextlib.contextmanager(make))

    return add


def _sent(attempt: Any) -> ObjectInfo:
    """What a procedure believes of an object at which it did not look."""
    return ObjectInfo(attempt._key, 0, "unknown", metadata=attempt._metadata)


def _patched(owner: Any, name: str, new: Any) -> AbstractContextManager[Any]:
    return mock.patch.object(owner, name, new)


class _Layer:
    """A store or manifest with some calls replaced."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@mutant(r"said written of|without its object")
def a_409_is_success() -> Iterator[None]:
    sound = commit._Attempt._judge

    def judge(self: Any, result: WriteResult) -> Committed | None:
        if result.answer is not Answer.RACING:
            return sound(self, result)
        return self._committed(Outcome.WRITTEN, self._store.head(self._key) or _sent(self))

    with _patched(commit._Attempt, "_judge", judge):
        yield None


@mutant(r"said already-present of|without its object")
def a_409_means_that_somebody_else_wrote_it() -> Iterator[None]:
    sound = commit._Attempt._judge

    def judge(self: Any, result: WriteResult) -> Committed | None:
        if result.answer is not Answer.RACING:
            return sound(self, result)
        found = self._store.head(self._key) or _sent(self)
        return self._committed(Outcome.ALREADY_PRESENT, found)

    with _patched(commit._Attempt, "_judge", judge):
        yield None


@mutant(r"was written again")
def ambiguous_and_absent_means_not_written() -> Iterator[Wrap]:
    """Scenario 3: the condition is thought to be needless then."""

    class Store(_Layer):
        def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
            try:
                return self.inner.put(key, body, condition)
            except TransientStoreError:
                absent = self.inner.head(key) is None
                return self.inner.put(key, body, Anyhow() if absent else condition)

    yield lambda store, manifest: (Store(store), manifest)


@mutant(r"said written of|without its object")
def ambiguous_means_written() -> Iterator[Wrap]:
    class Store(_Layer):
        def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
            try:
                return self.inner.put(key, body, condition)
            except TransientStoreError:
                found = self.inner.head(key)
                info = found or ObjectInfo(key, len(body.data), "?", metadata=body.metadata)
                return WriteResult(Answer.WRITTEN, info)

    yield lambda store, manifest: (Store(store), manifest)


@mutant(r"failed: PermanentStoreError")
def ambiguous_means_failed() -> Iterator[Wrap]:
    class Store(_Layer):
        def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
            try:
                return self.inner.put(key, body, condition)
            except TransientStoreError as error:
                raise PermanentStoreError(str(error)) from error

    yield lambda store, manifest: (Store(store), manifest)


@mutant(r"says .*'unknown'|failed: IncompleteError")
def the_read_back_is_skipped() -> Iterator[None]:
    def read_back(self: Any, **_: object) -> Committed:
        return self._committed(Outcome.ALREADY_PRESENT, _sent(self))

    with _patched(commit._Attempt, "_read_back", read_back):
        yield None


@mutant(r"was written again")
def looks_first_and_puts_without_a_condition() -> Iterator[Wrap]:
    class Store(_Layer):
        def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
            if self.inner.head(key) is not None:
                return WriteResult(Answer.REFUSED)
            return self.inner.put(key, body, Anyhow())

    yield lambda store, manifest: (Store(store), manifest)


@mutant(r"mosaic.tif was written again")
def the_mosaic_is_completed_without_a_condition() -> Iterator[Wrap]:
    class Store(_Layer):
        def compose(self, key: str, segments: Any, condition: Any, *more: Any, **named: Any) -> Any:
            return self.inner.compose(key, segments, Anyhow(), *more, **named)

    yield lambda store, manifest: (Store(store), manifest)


@mutant(r"without its object")
def a_row_goes_before_its_object() -> Iterator[None]:
    put, row = windows._put_tile, windows.tile_row

    def put_tile(on: Any, spec: Any, window: Any, tile: Any, run: Any) -> Committed:
        key = keys.tile_key(spec.plan.job_id, window.name)
        sent = ObjectInfo(key, len(tile.data), "?", metadata={"sha256": tile.sha256})
        number = spec.plan.recipe.tiling().number(window.name)
        early = row(on, spec, number, tile, sent, run)
        commit.commit_row(on.manifest, early, on.policy, on.effects)
        return put(on, spec, window, tile, run)

    with _patched(windows, "_put_tile", put_tile):
        yield None


@mutant(r"said already-present of")
def an_own_write_is_reported_as_already_present() -> Iterator[None]:
    with _patched(commit._Attempt, "_is_own_write", lambda self, stored: False):
        yield None


@mutant(r"was written by")
def write_ids_do_not_name_the_run() -> Iterator[None]:
    with _patched(session.Run, "write_id", lambda self, name: f"window/{name}"):
        yield None


@mutant(r"describes other bytes")
def a_row_describes_what_was_computed() -> Iterator[None]:
    with _patched(windows, "adopt", lambda on, spec, window, ours, committed: (ours, 0)):
        yield None


@mutant(r"describes other bytes")
def only_a_lost_race_is_compared() -> Iterator[None]:
    """The mistake that the machine found: a retried task may encode otherwise."""
    sound = windows.adopt

    def adopt(on: Any, spec: Any, window: Any, ours: Any, committed: Committed) -> Any:
        lost = committed.outcome is Outcome.ALREADY_PRESENT
        return sound(on, spec, window, ours, committed) if lost else (ours, 0)

    with _patched(windows, "adopt", adopt):
        yield None


@mutant(r"failed: PermanentStoreError.*412")
def a_refusal_is_an_error() -> Iterator[None]:
    sound = commit._Attempt._judge

    def judge(self: Any, result: WriteResult) -> Committed | None:
        if result.answer is Answer.REFUSED:
            raise PermanentStoreError(f"{self._key}: 412")
        return sound(self, result)

    with _patched(commit._Attempt, "_judge", judge):
        yield None


@mutant(r"a second row")
def rows_are_replaced() -> Iterator[Wrap]:
    class Manifest(_Layer):
        def insert(self, row: Row) -> Inserted | Existing:
            self.inner.insert(row)
            while not isinstance(self.inner.get(row.partition, row.window), Row):
                self.inner.insert(row)
            found = self.inner.get(row.partition, row.window)
            self.inner.replace(dataclasses.replace(row, revision=1), found.revision)
            return Inserted()

    yield lambda store, manifest: (store, Manifest(manifest))


@mutant(r"failed: IncompleteError")
def a_lost_reply_to_an_insert_means_inserted() -> Iterator[Wrap]:
    class Manifest(_Layer):
        def insert(self, row: Row) -> Inserted | Existing:
            with contextlib.suppress(TransientStoreError):
                return self.inner.insert(row)
            return Inserted()

    yield lambda store, manifest: (store, Manifest(manifest))


@mutant(r"failed: IncompleteError")
def a_listing_is_trusted() -> Iterator[None]:
    """A tile whose writer died before its row never gets one."""

    def missing(spec: Any) -> tuple[int, ...]:
        store, prefix = session.open_session(spec).store, f"tiles/{spec.plan.job_id}/"
        there = {found.key for found in store.list(prefix)}
        return tuple(
            spec.plan.recipe.tiling().number(window.name)
            for window in spec.plan.recipe.tiling().windows()
            if keys.tile_key(spec.plan.job_id, window.name) not in there
        )

    with _patched(job, "missing_windows", missing):
        yield None


@mutant(r"said written of")
def every_attempt_has_a_write_id_of_its_own() -> Iterator[Wrap]:
    """So that a landed first attempt looks like somebody else's."""

    class Store(_Layer):
        count = 0

        def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
            self.count += 1
            metadata = {**body.metadata, "write_id": f"{body.metadata['write_id']}/{self.count}"}
            return self.inner.put(key, dataclasses.replace(body, metadata=metadata), condition)

    yield lambda store, manifest: (Store(store), manifest)


@mutant(r"was written again")
def the_store_ignores_conditions() -> Iterator[Wrap]:
    """Scenario 10: preflight is there to refuse it."""

    class Store(_Layer):
        def put(self, key: str, body: Body, condition: Condition) -> WriteResult:
            return self.inner.put(key, body, Anyhow())

    yield lambda store, manifest: (Store(store), manifest)


@mutant(r"uploads \[.*\] are still open")
def nobody_ends_an_upload_that_no_claim_knows() -> Iterator[None]:
    with _patched(uploads, "end_others", lambda store, key: None):
        yield None


@mutant(r"uploads \[.*\] are still open")
def a_refused_upload_is_not_aborted() -> Iterator[None]:
    with _patched(Multipart, "_abort", lambda self, upload_id: None):
        yield None
