"""``plan.json``, ``item.json`` and the preview: what stands, and what is wrong with it."""

import hashlib

from scenemosaic import keys
from scenemosaic.errors import ForeignObject, InputError
from scenemosaic.plans.plan import MAX_PLAN_BYTES, load_plan
from scenemosaic.publishing.item import MAX_ITEM_BYTES, Item, parse_item
from scenemosaic.session import JobSpec, Session
from scenemosaic.verification import rules
from scenemosaic.verification.findings import Finding, Kind
from scenemosaic.verification.inspection import (
    UNREADABLE,
    found_at,
    gone,
    looked_again,
    unreadable,
)
from scenemosaic.verification.reading import reader

ITEM_TYPE, PREVIEW_TYPE = "application/geo+json", "image/png"
_MAX_PREVIEW_BYTES = 64 << 20


def check_plan(session: Session, job_id: str) -> list[Finding]:
    """Whether ``plan.json`` is there and is what the job ID says."""
    return looked_again(lambda: _check_plan(session, job_id))


def _check_plan(session: Session, job_id: str) -> list[Finding]:
    key = keys.plan_key(job_id)
    uri, info = session.store.object_uri(key), found_at(session, "plan", key)
    if isinstance(info, Finding):
        return [info]
    if info is None:
        return [Finding("plan", Kind.PLAN, f"{uri} is gone")]
    if info.size_bytes > MAX_PLAN_BYTES:
        return [Finding("plan", Kind.PLAN, f"{uri} is too large: {info.size_bytes} bytes")]
    try:
        load_plan(reader(session, info)(0, info.size_bytes), job_id)
    except InputError as error:
        return [Finding("plan", Kind.PLAN, f"{uri}: {error}")]
    except UNREADABLE as error:
        return [unreadable("plan", error)]
    return []


def check_item(session: Session, spec: JobSpec) -> tuple[Item | None, list[Finding]]:
    """The item where it can be believed, and what is wrong with it."""
    key = keys.item_key(spec.plan.job_id)
    data, findings = _small(session, spec, "item", key, ITEM_TYPE, MAX_ITEM_BYTES)
    if data is None:
        return None, findings
    try:
        return parse_item(data, spec.plan, session.store.object_uri(key)), findings
    except ForeignObject as error:
        others = [one for one in findings if one.kind is not Kind.FOREIGN]
        return None, [*others, Finding("item", Kind.FOREIGN, str(error))]


def check_preview(session: Session, spec: JobSpec, revision: int) -> list[Finding]:
    """Whether the preview of a revision is there and whole."""
    key = keys.preview_key(spec.plan.job_id, revision)
    return _small(session, spec, "preview", key, PREVIEW_TYPE, _MAX_PREVIEW_BYTES)[1]


def _small(
    session: Session, spec: JobSpec, subject: str, key: str, content_type: str, most_bytes: int
) -> tuple[bytes | None, list[Finding]]:
    def look() -> tuple[bytes | None, list[Finding]]:
        info = found_at(session, subject, key)
        if isinstance(info, Finding):
            return None, [info]
        if info is None:
            return None, [gone(session, subject, key)]
        if info.size_bytes > most_bytes:
            text = f"{session.store.object_uri(key)} is too large: {info.size_bytes} bytes"
            return None, [Finding(subject, Kind.FOREIGN, text)]
        try:
            data = reader(session, info)(0, info.size_bytes)
        except UNREADABLE as error:
            return None, [unreadable(subject, error)]
        sha256 = hashlib.sha256(data).hexdigest()
        wrong = rules.of_metadata(subject, spec.plan.job_id, info, sha256, content_type)
        return data, list(wrong)

    return looked_again(look)
