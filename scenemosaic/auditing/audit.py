"""The audit log: what was refused, replaced, waived or created over a delete marker, and by whom.

Batches of JSON lines in numbered objects, ``audit/{log}/{n:08d}.jsonl``, each created once
and never changed; a ``log`` is a job's ID, or a ledger's (``keys.ledger_log``). Why it is so,
and what a fault of the log does: docs/adr/0012-audit.md.
"""

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from scenemosaic import canonical, keys
from scenemosaic.canonical import Fields
from scenemosaic.committing.commit import Outcome, Refusal, commit_object, retrying
from scenemosaic.errors import StoreError
from scenemosaic.session import Run
from scenemosaic.store_session import AnySession
from scenemosaic.stores.port import Body, IfAbsent

CONTENT_TYPE: Final = "application/jsonl"

_log = logging.getLogger(__name__)
_TEXTS = ("at", "operator", "run_id", "event", "key")
# Whoever writes a URI into the details must not have to think of its secrets.
_USER_AND_QUERY = re.compile(r"(\w[\w+.-]*://)(?:[^\s/?#@]*@)?([^\s?#]*)(?:[?#]\S*)?")


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that happened to ``key``; ``details`` is JSON, ``at`` RFC 3339 in UTC.

    Where ``at`` is left out, the time at which it is appended stands for it.
    """

    event: str
    key: str
    details: Mapping[str, object]
    at: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A record as the log holds it: by whom, in which run, and in which object."""

    batch: str
    operator: str
    run_id: str
    record: Record


def append(
    session: AnySession, log: str, run: Run, records: Sequence[Record], *, repeated: bool = False
) -> str | None:
    """Add ``records`` as one new batch, and say its key; None where there are none.

    ``repeated``: an earlier call with the same records failed, so they may stand there
    already. Raises StoreError where the store's faults outlast their retries.
    """
    if not records:
        return None
    now = session.now()
    data = b"".join(as_line(record, run, now) for record in records)
    digest = hashlib.sha256(data).hexdigest()
    metadata = {"job_id": log, "write_id": run.write_id(f"audit/{digest}"), "sha256": digest}
    standing = _listed(session, log)
    if repeated and (found := _own(session, standing, len(data), metadata["write_id"])):
        return found
    number = max((keys.audit_number(key) for key in standing), default=0) + 1
    while True:
        key = keys.audit_key(log, number)
        body = Body(data, digest, CONTENT_TYPE, metadata)
        done = commit_object(session.store, key, body, IfAbsent(), session.policy, session.effects)
        if done.outcome is Outcome.WRITTEN:
            return key
        number += 1


def keep(session: AnySession, log: str, run: Run, records: Sequence[Record]) -> tuple[Record, ...]:
    """:func:`append`, giving back what a store's fault kept out of the log, with a warning.

    What a commit came to never depends on the log: the caller appends the rest later.
    """
    # Dated now, so that the same records make the same bytes when they are appended again.
    dated = tuple(replace(record, at=record.at or session.now()) for record in records)
    try:
        append(session, log, run, dated)
    except StoreError as error:
        number = len(dated)
        _log.warning("%s: %d records are not in the audit log: %s", log, number, error)
        return dated
    return ()


def read(session: AnySession, log: str) -> Iterator[Entry]:
    """Every entry of a log, oldest batch first. InputError names a batch that is none."""
    for key in sorted(_listed(session, log), key=keys.audit_number):
        get = partial(session.store.get, key)
        for line in retrying(get, session.policy, session.effects).split(b"\n")[:-1]:
            yield _entry(line, key)


def of_refusal(refusal: Refusal) -> Record:
    """The record of one refused attempt."""
    details = {
        "condition": refusal.condition,
        "request_id": refusal.request_id,
        "ours_sha256": refusal.ours_sha256,
        "theirs_sha256": refusal.theirs_sha256,
        "theirs_etag": refusal.theirs_etag,
        "theirs_version_id": refusal.theirs_version_id,
        "own": refusal.own,
    }
    return Record("refused", refusal.key, details, refusal.at)


def as_line(record: Record, run: Run, at: str) -> bytes:
    """The record's line; ``at`` dates a record that is not dated."""
    value = {
        "at": record.at or at,
        "operator": run.operator,
        "run_id": run.run_id,
        "event": record.event,
        "key": record.key,
        "details": _without_secrets(dict(record.details)),
    }
    return canonical.encode(value) + b"\n"


def _listed(session: AnySession, log: str) -> dict[str, int]:
    """The keys of the log's batches with their sizes in bytes."""

    def ask() -> dict[str, int]:
        found = session.store.list(keys.audit_prefix(log))
        return {one.key: one.size_bytes for one in found if keys.audit_number(one.key)}

    return retrying(ask, session.policy, session.effects)


def _own(
    session: AnySession, standing: Mapping[str, int], size_bytes: int, write_id: str
) -> str | None:
    for key in (key for key, size in standing.items() if size == size_bytes):
        info = retrying(partial(session.store.head, key), session.policy, session.effects)
        if info is not None and info.metadata.get("write_id") == write_id:
            return key
    return None


def _without_secrets(value: object) -> object:
    """URIs lose what may be secret in them: user, password, query and fragment."""
    match value:
        case str():
            return _USER_AND_QUERY.sub(r"\1\2", value)
        case dict():
            return {name: _without_secrets(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_without_secrets(inner) for inner in value]
    return value


def _entry(line: bytes, batch: str) -> Entry:
    fields = Fields(canonical.decode(line, batch), batch)
    details = fields.typed("details", dict)
    text = {name: fields.typed(name, str) for name in _TEXTS}
    fields.done()
    record = Record(text["event"], text["key"], details, text["at"])
    return Entry(batch, text["operator"], text["run_id"], record)
