"""What is published, as its readers find it: ``latest.json``, and the catalog beside it.

Both lie directly below ``mosaics/``, so that their links hold wherever that folder is
served. ``latest.json`` pins revision, version and digest of one named job; so does each of
the catalog's links, since the item that it leads to moves on when the job is repaired.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from scenemosaic.canonical import Fields, decode, encode, without
from scenemosaic.errors import ForeignObject, InputError
from scenemosaic.keys import check_job_id
from scenemosaic.ledger.state import Published
from scenemosaic.moments import rfc3339
from scenemosaic.publishing.stac import STAC_VERSION

SCHEMA: Final = 1
LINKS: Final = 200
_SCHEMA: Final = "scenemosaic_latest"
_CATALOG_ID: Final = "scenemosaic-published"
_ITEM_TYPE: Final = "application/geo+json"
_ITEM_HREF: Final = re.compile(r"\./([0-9a-f]{32})/item\.json")
_ROOT_LINK: Final = {"rel": "root", "href": "./catalog.json", "type": "application/json"}
_PROOF: Final = ("digest", "etag", "version_id")
_TITLE: Final = "title"  # STAC's own name for what a link leads to
_PINS: Final = tuple(f"scenemosaic:{name}" for name in ("mosaic", "revision", *_PROOF))


Link = dict[str, object]


@dataclass(frozen=True, slots=True)
class Target:
    """One mosaic of a named job, as it was inspected; ``href`` is relative to ``mosaics/``.

    ``title`` is what people call it.
    """

    job_id: str
    href: str
    size_bytes: int
    pinned: Published
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Latest:
    """What ``latest.json`` says: the target, which run published it, and under which ledger.

    ``ledger_revision`` is the ledger's while the run held it.
    """

    target: Target
    published_at: str
    run_id: str
    ledger: str
    ledger_revision: int
    previous_job_id: str | None = None


def after(
    before: Latest | None, target: Target, run_id: str, ledger: tuple[str, int], now: datetime
) -> Latest:
    """What follows ``before``. ``ledger`` is its name and revision."""
    previous = None if before is None else before.target.job_id
    return Latest(target, rfc3339(now), run_id, *ledger, previous)


def dump(latest: Latest) -> bytes:
    """The bytes of ``latest.json``."""
    target, pinned = latest.target, latest.target.pinned
    proof: dict[str, object] = {name: getattr(pinned, name) for name in _PROOF}
    mosaic = {"href": target.href, "bytes": target.size_bytes}
    value: dict[str, object] = {
        _SCHEMA: SCHEMA,
        "job_id": target.job_id,
        "title": target.title,
        "revision": pinned.revision,
        "mosaic": mosaic | without(proof, {"version_id": None}),
        "item": {"href": item_href(target.job_id), "type": _ITEM_TYPE},
        "published_at": latest.published_at,
        "run_id": latest.run_id,
        "ledger": {"name": latest.ledger, "revision": latest.ledger_revision},
        "previous_job_id": latest.previous_job_id,
    }
    return encode(without(value, {"previous_job_id": None, "title": None}))


def load(data: bytes, uri: str) -> Latest:
    """What is in ``data``. Raises ForeignObject, naming ``uri``, for anything else."""
    try:
        return _latest(Fields(decode(data, "it"), "latest"))
    except InputError as error:
        raise ForeignObject(
            f"{uri} cannot be read by this version: {error}; move it away, or upgrade "
            "scenemosaic if a newer one wrote it"
        ) from error


def _latest(fields: Fields) -> Latest:
    if (schema := fields.typed(_SCHEMA, int)) != SCHEMA:
        raise InputError(f"its schema is {schema}, and this version knows {SCHEMA}")
    ledger = Fields(fields.take("ledger"), "latest.ledger")
    fields.typed("item", dict)
    latest = Latest(
        target=_target(fields),
        published_at=fields.typed("published_at", str),
        run_id=fields.typed("run_id", str),
        ledger=ledger.typed("name", str),
        ledger_revision=ledger.typed("revision", int),
        previous_job_id=fields.typed("previous_job_id", str, None),
    )
    ledger.done()
    fields.done()
    return latest


def _target(fields: Fields) -> Target:
    job_id, revision = check_job_id(fields.typed("job_id", str)), fields.typed("revision", int)
    mosaic = Fields(fields.take("mosaic"), "latest.mosaic")
    href, size_bytes = mosaic.typed("href", str), mosaic.typed("bytes", int)
    digest, etag = mosaic.typed("digest", str), mosaic.typed("etag", str)
    version_id = mosaic.typed("version_id", str, None)
    mosaic.done()
    pinned = Published(revision, digest, etag, version_id)
    return Target(job_id, href, size_bytes, pinned, fields.typed("title", str, None))


def item_href(job_id: str) -> str:
    """A job's item, as seen from ``mosaics/``."""
    return f"./{job_id}/item.json"


def catalog(before: bytes | None, latest: Latest, uri: str) -> bytes:
    """``catalog.json`` with the latest job first, and those published before it, as they were.

    The one just before is among them even where its own run died before it was listed: then
    without a pin. Raises ForeignObject, naming ``uri``, where ``before`` is no catalog of ours.
    """
    known = {} if before is None else listed(before, uri)
    links = {latest.target.job_id: _item_link(latest.target.job_id, _pins(latest.target))}
    if (previous := latest.previous_job_id) is not None:
        links.setdefault(previous, known.get(previous) or _item_link(previous, {}))
    for job_id, link in known.items():
        links.setdefault(job_id, link)
    value: dict[str, object] = {
        "type": "Catalog",
        "stac_version": STAC_VERSION,
        "id": _CATALOG_ID,
        "description": "Mosaics that were published here, the latest first.",
        "links": [_ROOT_LINK, *list(links.values())[:LINKS]],
    }
    return encode(value)


def _item_link(job_id: str, pins: Link) -> Link:
    return {"rel": "item", "href": item_href(job_id), "type": _ITEM_TYPE, **pins}


def _pins(target: Target) -> Link:
    """Which mosaic was published, and what proves it: the same as in ``latest.json``."""
    pinned = target.pinned
    proof = (getattr(pinned, name) for name in _PROOF)
    values = dict(zip(_PINS, (target.href, pinned.revision, *proof), strict=True))
    values[_TITLE] = target.title
    return {name: value for name, value in values.items() if value is not None}


def listed(data: bytes, uri: str) -> dict[str, Link]:
    """The links of a catalog of ours by job. Raises ForeignObject, naming ``uri``, otherwise."""
    try:
        fields = Fields(decode(data, "the catalog"), "catalog")
        if fields.typed("id", str) != _CATALOG_ID:
            raise InputError("its id is another")
        links = [_link(link) for link in fields.items("links")]
    except InputError as error:
        raise ForeignObject(
            f"{uri} is no catalog of published mosaics ({error}); move it away"
        ) from error
    return {
        found[1]: _item_link(found[1], pins)
        for href, pins in links
        if (found := _ITEM_HREF.fullmatch(href))
    }


def _link(value: object) -> tuple[str, Link]:
    """A link's href, and its pins as they stand."""
    fields = Fields(value, "a link")
    pins = {name: fields.take(name, None) for name in (*_PINS, _TITLE)}
    pins = {name: pin for name, pin in pins.items() if type(pin) in (str, int)}
    return fields.typed("href", str), pins
