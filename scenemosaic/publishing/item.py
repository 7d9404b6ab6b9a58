"""``item.json``, the one mutable pointer of a job: read, and checked before it is believed."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from scenemosaic import keys
from scenemosaic.canonical import decode
from scenemosaic.committing.commit import is_ours, retrying
from scenemosaic.errors import ForeignObject, IncompleteError, InputError
from scenemosaic.plans.plan import Plan
from scenemosaic.publishing.item_rules import unlike_plan
from scenemosaic.publishing.mosaic_facts import file_facts
from scenemosaic.publishing.stac import href, recipe_sha256
from scenemosaic.session import JobSpec, Session
from scenemosaic.stores.port import ObjectInfo
from scenemosaic.words import some

DIGEST: Final = "scenemosaic:digest"
MAX_ITEM_BYTES: Final = 16 << 20
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Item:
    """What ``item.json`` says: the current revision, and the digest of the rows it was built from.

    ``rows_sha256`` is None in items of versions that did not keep it; ``mosaic`` are the size,
    the digest and the checksum that it says of its mosaic; ``data`` is the item.
    """

    revision: int
    rows_sha256: str | None
    waived: Mapping[str, str]
    data: bytes
    mosaic: tuple[object, object, object] = (None, None, None)


@dataclass(frozen=True, slots=True)
class Unlike:
    """What an item ``said`` of its mosaic, and what that ``has``."""

    name: str
    said: object
    has: object


def read_item(session: Session, spec: JobSpec) -> Item | None:
    """The job's pointer by one small GET; None where there is no item.

    Raises ForeignObject where the item is not this job's, or leads to none of its keys.
    """
    key = keys.item_key(spec.plan.job_id)
    try:
        data = _get(session, key, None)
    except IncompleteError:
        return None
    return parse_item(data, spec.plan, session.store.object_uri(key))


def read_item_to_move(session: Session, spec: JobSpec) -> tuple[Item | None, str | None, bool]:
    """The same with the item's ETag, and whether its bytes are those that were written.

    The ETag is for whoever will replace just that one by If-Match.
    """
    key = keys.item_key(spec.plan.job_id)
    uri = session.store.object_uri(key)
    while True:
        info = retrying(lambda: session.store.head(key), session.policy, session.effects)
        if info is None:
            return None, None, True
        if not is_ours(info, {"job_id": spec.plan.job_id}):
            raise _foreign(uri, f"this pipeline did not write it (ETag {info.etag})")
        try:
            data = _get(session, key, info.etag)
        except IncompleteError:  # it was moved between the two requests
            continue
        is_sound = info.metadata.get("sha256") == hashlib.sha256(data).hexdigest()
        return parse_item(data, spec.plan, uri), info.etag, is_sound


def is_as_written(session: Session, spec: JobSpec, item: Item) -> bool:
    """Whether an item that was read has the bytes that were written: one HEAD more.

    What it alone says (the preview's checksum, bands, waived windows) nothing else would show.
    Raises ForeignObject where this pipeline did not write it.
    """
    key = keys.item_key(spec.plan.job_id)
    info = retrying(lambda: session.store.head(key), session.policy, session.effects)
    if info is not None and info.metadata.get("sha256") == hashlib.sha256(item.data).hexdigest():
        return True
    return read_item_to_move(session, spec)[2]  # else it was moved between the two requests


def parse_item(data: bytes, plan: Plan, uri: str) -> Item:
    """The pointer in an item's bytes; ForeignObject, naming ``uri``, where it is none of the job's.

    An item of ours says its job, its recipe and what its plan decides, and its links are keys
    of the contract.
    """
    if len(data) > MAX_ITEM_BYTES:
        raise _foreign(uri, f"it has more than {MAX_ITEM_BYTES} bytes")
    try:
        item: Any = decode(data, uri)
        properties = item["properties"]
        found = item["type"], item["id"], properties["scenemosaic:recipe_sha256"]
        links = item["assets"]["data"]["href"], item["assets"]["preview"]["href"]
        revision = properties.get("scenemosaic:revision", 0)
        rows_sha256 = properties.get("scenemosaic:rows_sha256")
        waived = dict(properties.get("scenemosaic:waived", {}))
        data_asset = item["assets"]["data"]
        mosaic = (
            data_asset.get("file:size"),
            data_asset.get(DIGEST),
            data_asset.get("file:checksum"),
        )
    except (InputError, KeyError, TypeError, ValueError, AttributeError):
        raise _foreign(uri, "it is no item of this pipeline") from None
    if found != ("Feature", plan.job_id, recipe_sha256(plan.recipe)):
        raise _foreign(uri, "it describes something else than this job")
    if type(revision) is not int or revision < 0 or not _is_digest(rows_sha256):
        raise _foreign(uri, f"its revision {revision!r:.40} or digest of rows is none")
    if links != (href(revision, keys.MOSAIC_FILE), href(revision, keys.PREVIEW_FILE)):
        raise _foreign(uri, f"it leads to other files than those of revision {revision}")
    if unlike := _unlike_plan(item, plan, revision, uri):
        raise _foreign(uri, f"it says otherwise than its plan: {some(unlike)}")
    return Item(revision, rows_sha256, waived, data, mosaic)


def _unlike_plan(item: Any, plan: Plan, revision: int, uri: str) -> list[str]:
    try:
        return unlike_plan(item, plan, revision)
    except (TypeError, ValueError, AttributeError):
        raise _foreign(uri, "it is no item of this pipeline") from None


def unlike_mosaic(item: Item, stored: ObjectInfo) -> Iterator[Unlike]:
    """What the item says of its mosaic that is not so, as far as the store tells."""
    size_bytes, digest, checksum = item.mosaic
    has = file_facts(stored).to_json()
    yield from _unlike("size", size_bytes, stored.size_bytes)
    yield from _unlike("digest", digest, stored.metadata.get("digest", digest))
    if checksum is not None:
        yield from _unlike("checksum", checksum, has.get("file:checksum"))
    if item.rows_sha256 is not None:
        known = stored.metadata.get("rows_sha256", item.rows_sha256)
        yield from _unlike("digest of rows", item.rows_sha256, known)


def _unlike(name: str, said: object, has: object) -> Iterator[Unlike]:
    if said != has:
        yield Unlike(name, said, has)


def check_describes(item: Item, stored: ObjectInfo, uri: str) -> None:
    """ForeignObject where the item at ``uri`` is of another mosaic than it leads to."""
    if unlike := [f"{one.name} {one.said}, not {one.has}" for one in unlike_mosaic(item, stored)]:
        raise _foreign(uri, f"it says of its mosaic {', '.join(unlike)}")


def older(item: Item, told: int) -> str:
    """How to say that an older item stands where the row tells of a newer revision."""
    return (
        f"it leads to revision {item.revision}, and its mosaic's row to revision {told}, as if an "
        "older item had been put back"
    )


def _get(session: Session, key: str, etag: str | None) -> bytes:
    return retrying(
        lambda: session.store.get(key, 0, MAX_ITEM_BYTES + 1, etag),
        session.policy,
        session.effects,
    )


def _is_digest(value: object) -> bool:
    return value is None or (isinstance(value, str) and _SHA256.fullmatch(value) is not None)


def _foreign(uri: str, why: str) -> ForeignObject:
    return ForeignObject(f"{uri} is not believed: {why}; move it away, or choose another root")
