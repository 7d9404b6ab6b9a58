"""The short form, once for each root and each manifest: what must be refused, is it refused?

It leaves one object and one row under fixed keys, and deletes nothing. It cannot see a
store whose look and write are two steps: that takes the races of the full form.
"""

import contextlib
import hashlib
import re

from scenemosaic import keys
from scenemosaic.committing.metrics import count_refusal
from scenemosaic.errors import MissingCapability, PreconditionsIgnored, TransientStoreError
from scenemosaic.manifests.port import Inserted, Manifest, Row, Updated
from scenemosaic.preflight.memory import Memory
from scenemosaic.preflight.rows import probe_row
from scenemosaic.stores.port import (
    Answer,
    Body,
    Condition,
    Grounded,
    IfAbsent,
    IfMatch,
    Store,
    WriteResult,
)
from scenemosaic.waiting.retry import Effects, Pacer, RetryPolicy, retrying

# Never changed: every later version of this software must find its probe as it is.
FIRST = b"scenemosaic preflight: an object that is never overwritten\n"
INTRUDER = b"scenemosaic preflight: this store ignores conditions\n"
_WRITTEN_AT = "1970-01-01T00:00:00Z"


def check_store(store: Store, memory: Memory, policy: RetryPolicy, effects: Effects) -> None:
    """Raise PreconditionsIgnored where the store accepts what it must refuse.

    Five requests, once. In a folder our own adapter would answer them: there the file system
    is tried, each time, as it costs next to nothing and may be another one tomorrow.
    """
    if isinstance(store, Grounded):
        if problem := retrying(store.unenforced, policy, effects):
            raise _ignored(store.uri, problem)
        return
    if memory.knows(store.uri):
        return
    etag = _first_etag(store, policy, effects)
    _must_refuse(store, IfAbsent(), "a create over an object", policy, effects)
    with contextlib.suppress(MissingCapability):  # it says so: that is no pretending
        stale = IfMatch(other_etag(etag))
        _must_refuse(store, stale, "a change by another ETag than the object's", policy, effects)
    if retrying(lambda: store.get(keys.PROBE_KEY), policy, effects) == INTRUDER:
        raise _ignored(store.uri, "it overwrote an object")
    memory.remember(store.uri)


def _first_etag(store: Store, policy: RetryPolicy, effects: Effects) -> str:
    result = _settled(store, FIRST, IfAbsent(), policy, effects)
    if result.info is not None:
        return result.info.etag
    info = retrying(lambda: store.head(keys.PROBE_KEY), policy, effects)
    if info is None:
        raise TransientStoreError(
            f"{store.object_uri(keys.PROBE_KEY)}: a create was refused, and nothing stands there; "
            "run again"
        )
    return info.etag


def _must_refuse(
    store: Store, condition: Condition, what: str, policy: RetryPolicy, effects: Effects
) -> None:
    if _settled(store, INTRUDER, condition, policy, effects).answer is Answer.WRITTEN:
        raise _ignored(store.uri, f"it accepted {what}")
    count_refusal("store")


def _settled(
    store: Store, data: bytes, condition: Condition, policy: RetryPolicy, effects: Effects
) -> WriteResult:
    """The answer to a write that may land once or never, sent again until there is one."""
    pacer = Pacer(policy, effects)
    while True:
        retry_after_s = None
        try:
            result = store.put(keys.PROBE_KEY, _body(data), condition)
            if result.answer is not Answer.RACING:
                return result
            failure = TransientStoreError(f"{store.object_uri(keys.PROBE_KEY)}: always 409")
        except TransientStoreError as error:
            failure, retry_after_s = error, error.retry_after_s
        if not pacer.again(retry_after_s):
            raise failure


def check_manifest(
    manifest: Manifest, memory: Memory, policy: RetryPolicy, effects: Effects
) -> None:
    """The same for a manifest: three requests, once."""
    if memory.knows(manifest.url):
        return
    retrying(lambda: manifest.insert(_row("first")), policy, effects)
    again = retrying(lambda: manifest.insert(_row("intruder")), policy, effects)
    if isinstance(again, Inserted):
        raise _ignored(manifest.url, "it accepted an insert over a row")
    # No row ever has revision 0.
    changed = retrying(lambda: manifest.replace(_row("intruder"), 0), policy, effects)
    if isinstance(changed, Updated):
        raise _ignored(manifest.url, "it accepted a change by another revision than the row's")
    for stands in (again.row, changed.row):
        if stands is None or stands.etag == "intruder":
            raise _ignored(manifest.url, "it overwrote a row")
    count_refusal("manifest")
    count_refusal("manifest")
    memory.remember(manifest.url)


def _row(mark: str) -> Row:
    return probe_row(keys.PROBE_PARTITION, keys.PROBE_ROW, mark, _WRITTEN_AT)


def _body(data: bytes) -> Body:
    digest = hashlib.sha256(data).hexdigest()
    metadata = {"job_id": "preflight", "write_id": "preflight", "sha256": digest}
    return Body(data, digest, "text/plain", metadata)


def other_etag(etag: str) -> str:
    """An ETag, or a generation, that looks like ``etag`` and never is the same."""
    if etag.isdecimal():
        return "1" if etag != "1" else "2"
    other = re.sub(r"[0-9A-Za-z]", "0", etag)
    return other if other != etag else re.sub("0", "1", etag)


def _ignored(place: str, what: str) -> PreconditionsIgnored:
    return PreconditionsIgnored(
        f"{place} ignores preconditions: {what}; no job may run there, as outputs could be "
        "written twice or lost. Choose another one, and see what it enforces with: "
        "scenemosaic preflight ROOT"
    )
