"""One STAC item's scene, or why it has none: others write what they like."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import requests
from pystac import Asset, Item, STACError, STACTypeError
from pystac_client.exceptions import APIError

from scenemosaic.discovery.found import MOST_SOURCE_CHARS, Found
from scenemosaic.discovery.item_shape import SHOWN, check_kind, check_link, place_of, said
from scenemosaic.errors import InputError, PermanentStoreError
from scenemosaic.moments import in_utc, rfc3339
from scenemosaic.plans.item_facts import MULTIHASH, ItemFacts
from scenemosaic.sources.locations import canonical_location, is_local

_RASTERS: Final = ("image/tiff", "image/jp2", "image/vnd.stac.geotiff")
# What pystac raises for what is no item, and json for what is nested without end.
UNUSABLE: Final = (
    STACError,
    STACTypeError,
    KeyError,
    TypeError,
    ValueError,
    AttributeError,
    RecursionError,
)
_GONE: Final = range(400, 500)
_TOO_MANY: Final = 429


class Unreadable(ValueError):
    """What stands there is no JSON that a STAC document could be; its text says why."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An item that nobody has looked at. ``name`` is its ID, or what led to it, and the place.

    ``place`` is where it was read: what came over the network names no file of this machine.
    """

    name: str
    place: str
    read: Callable[[], Item]
    raw: Mapping[str, Any] = field(default_factory=dict)


def scene_of(offer: Offer, asset: str | None, is_wanted: Callable[[Item], bool]) -> Found | None:
    """The item's scene, or its refusal; None where it is not wanted.

    Raises what says that the place itself cannot be read: APIError, a connection's errors,
    TransientStoreError.
    """
    try:
        item = offer.read()
        return _found(item, asset, offer.place) if is_wanted(item) else None
    except (InputError, PermanentStoreError, Unreadable) as error:
        return _refused(offer, str(error))
    except APIError as error:
        status = getattr(error, "status_code", None) or 0
        if status not in _GONE or status == _TOO_MANY:
            raise
        return _refused(offer, f"the item cannot be read: its place answered {status}")
    except (requests.ConnectionError, requests.Timeout):
        raise
    except OSError as error:  # a link that leads nowhere
        return _refused(offer, f"it cannot be read: {error.strerror or error}")
    except UNUSABLE as error:
        return _refused(offer, f"it is no STAC item ({type(error).__name__}: {error!s:.200})")


def _refused(offer: Offer, reason: str) -> Found:
    """Under a version that changes as soon as anything in it does."""
    digest = hashlib.sha256(json.dumps(offer.raw, sort_keys=True).encode()).hexdigest()
    return Found(offer.name, digest[:32], _any_time(offer.raw), refused=f"{offer.name}: {reason}")


def _any_time(raw: Mapping[str, Any]) -> str:
    given = raw.get("properties")
    properties = given if isinstance(given, Mapping) else {}
    for name in ("updated", "created", "datetime"):
        try:
            return rfc3339(datetime.fromisoformat(str(properties.get(name))))
        except (ValueError, OverflowError):
            continue
    return ""


def item_name(raw: object, number: int) -> str:
    """What an item is called in messages."""
    said = raw.get("id") if isinstance(raw, Mapping) else None
    return f"item {said:.{SHOWN}}" if isinstance(said, str) and said else f"item number {number}"


def _found(item: Item, name: str | None, place: str) -> Found:
    asset = _asset(item, name)
    href = _href(item, asset)
    if len(href) > MOST_SOURCE_CHARS:
        raise InputError(f"its link has {len(href)} characters, more than {MOST_SOURCE_CHARS}")
    source = canonical_location(href)
    if is_local(source) and not is_local(place):
        raise InputError("it came from a server, and its link leads to a file of this machine")
    common = item.common_metadata
    seen = common.updated or common.created or span(item)[0]
    when = rfc3339(seen) if seen else ""
    return Found(source, when or item.id, when, _facts(item, asset))


def _href(item: Item, asset: Asset) -> str:
    key = next(key for key, one in item.assets.items() if one is asset)
    check_link(place_of(key), asset.href)
    href = asset.get_absolute_href()
    if href is None:
        raise InputError("its link is relative, and no link of its own says to what")
    return href


def _facts(item: Item, asset: Asset) -> ItemFacts:
    name: object = item.id
    if not isinstance(name, str) or not 0 < len(name) <= SHOWN or not name.isprintable():
        raise InputError(f"its ID is not of 1 to {SHOWN} printable characters")
    taken, fields = span(item)[0], asset.extra_fields
    return ItemFacts(
        name,
        rfc3339(taken) if taken else None,
        item.datetime is None,
        said(fields, "file:checksum", str, MULTIHASH),
        said(fields, "file:size", int, "a number of bytes"),
    )


def _asset(item: Item, name: str | None) -> Asset:
    if name is not None:
        if name not in item.assets:
            raise InputError(f"it has no asset {name!r}, but {', '.join(sorted(item.assets))}")
        return item.assets[name]
    for key, one in item.assets.items():
        check_kind(key, one)
    rasters = {key: one for key, one in item.assets.items() if _is_raster(one)}
    data = {key: one for key, one in rasters.items() if "data" in (one.roles or ())}
    if len(data) == 1:
        return next(iter(data.values()))
    if len(rasters) != 1:
        raise InputError(
            f"it has {len(rasters)} raster assets ({', '.join(sorted(rasters))}); "
            "name the one that is the scene (--asset)"
        )
    return next(iter(rasters.values()))


def _is_raster(asset: Asset) -> bool:
    media = (asset.media_type or "").partition(";")[0].strip().lower()
    return media in _RASTERS and not {"thumbnail", "overview"} & set(asset.roles or ())


def span(item: Item) -> tuple[datetime | None, datetime | None]:
    """From when to when the item's scene was taken, in UTC, as far as it says so.

    Raises InputError where it ends before it begins.
    """
    if item.datetime is not None:
        moment = in_utc(item.datetime)
        return moment, moment
    common = item.common_metadata
    first, last = (
        moment and in_utc(moment) for moment in (common.start_datetime, common.end_datetime)
    )
    if first and last and last < first:
        raise InputError(
            f"its end_datetime {rfc3339(last)} is before its start_datetime {rfc3339(first)}: "
            "mend the item, or give the source itself"
        )
    return first, last
