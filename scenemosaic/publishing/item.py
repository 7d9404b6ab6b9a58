"""``item.json``, the one mutable pointer of a job: read, and checked before it is believed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from scenemosaic import keys
from scenemosaic.canonical import decode
from scenemosaic.committing.commit import is_ours, retrying
from scenemosaic.errors import ForeignObject, IncompleteError, InputError
from scenemosaic.plans.plan import Plan
from scenemosaic.publishing.stac import href, recipe_sha256
from scenemosaic.session import JobSpec, Session
from scenemosaic.stores.port import ObjectInfo

DIGEST: Final = "scenemosaic:digest"
MAX_ITEM_BYTES: Final = 16 << 20
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Item:
    """What ``item.json`` says: the current revision, and the digest of the rows it was built from.

    ``rows_sha256`` is None in items of versions that did not keep it; ``mosaic`` is the size
    and the digest that it says of its mosaic; ``data`` is the item.
    """

    revision: int
    rows_sha256: str | None
    waived: Mapping[str, str]
    data: bytes
    mosaic: tuple[object, object] = (None, None)


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


def read_item_to_move(session: Session, spec: JobSpec) -> tuple[Item | None, str | None]:
    """The same with the item's ETag, for whoever will replace just that one by If-Match."""
    key = keys.item_key(spec.plan.job_id)
    uri = session.store.object_uri(key)
    while True:
        info = retrying(lambda: session.store.head(key), session.policy, session.effects)
        if info is None:
            return None, None
        if not is_ours(info, {"job_id": spec.plan.job_id}):
            raise _foreign(uri, f"this pipeline did not write it (ETag {info.etag})")
        try:
            data = _get(session, key, info.etag)
        except IncompleteError:  # it was moved between the two requests
            continue
        return parse_item(data, spec.plan, uri), info.etag


def parse_item(data: bytes, plan: Plan, uri: str) -> Item:
    """The pointer in an item's bytes; ForeignObject, naming ``uri``, where it is none of the job's.

    An item of ours says its job and its recipe, and its links are keys of the contract.
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
        mosaic = (item["assets"]["data"].get("file:size"), item["assets"]["data"].get(DIGEST))
    except (InputError, KeyError, TypeError, ValueError, AttributeError):
        raise _foreign(uri, "it is no item of this pipeline") from None
    if found != ("Feature", plan.job_id, recipe_sha256(plan.recipe)):
        raise _foreign(uri, "it describes something else than this job")
    if type(revision) is not int or revision < 0 or not _is_digest(rows_sha256):
        raise _foreign(uri, f"its revision {revision!r:.40} or digest of rows is none")
    if links != (href(revision, keys.MOSAIC_FILE), href(revision, keys.PREVIEW_FILE)):
        raise _foreign(uri, f"it leads to other files than those of revision {revision}")
    return Item(revision, rows_sha256, waived, data, mosaic)


def check_describes(item: Item, stored: ObjectInfo, uri: str) -> None:
    """ForeignObject where the item at ``uri`` is of another mosaic than it leads to."""
    if item.mosaic != (stored.size_bytes, stored.metadata["digest"]):
        raise _foreign(uri, "it says another size or digest than its mosaic has")


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
