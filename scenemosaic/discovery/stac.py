"""Scenes of a STAC API's search, or of a STAC file: item, item collection, or catalog."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import requests
from pystac import Catalog, Item, Link, STACError, STACObject
from pystac_client import Client
from pystac_client.exceptions import APIError
from pystac_client.stac_api_io import StacApiIO

from scenemosaic.discovery.found import Found
from scenemosaic.discovery.item_shape import check_item, check_linked, parted
from scenemosaic.discovery.items import UNUSABLE, Offer, Unreadable, item_name, scene_of, span
from scenemosaic.errors import InputError, PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.sources.byte_ranges import read_whole
from scenemosaic.sources.locations import (
    canonical_location,
    check_host,
    is_http,
    is_s3,
    is_stac,
    public_uri,
)
from scenemosaic.sources.pins import check_readable

A = TypeVar("A")
DEADLINE_S: Final = 60
MAX_BYTES: Final = 256 << 20
# Where a catalog of pystac's holds what is wrong with links that it was not shown.
_ODD: Final = "scenemosaic:odd"


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for. Days are whole ones, in UTC, both included.

    ``asset`` names the asset that is the scene; left out, an item's one raster is.
    """

    place: str
    collections: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    asset: str | None = None
    at_most: int = 10_000

    def __post_init__(self) -> None:
        if self.since and self.until and self.until < self.since:
            raise InputError(f"{self.until} is before {self.since}: swap the two days")


def search(wanted: Search) -> Iterator[Found]:
    """Every item's scene, in the order of the source; an item that is not usable is refused.

    Raises InputError where the place is no STAC, StoreError where it cannot be read.
    """
    named = public_uri(wanted.place)
    location = _location(wanted.place)
    try:
        is_api = is_http(location) and not is_stac(location) and not _is_document(location)
        for offer in _searched(location, wanted) if is_api else _filed(location):
            # An API has chosen by itself, as it understands the days.
            found = scene_of(offer, wanted.asset, lambda item: is_api or _is_wanted(item, wanted))
            if found is not None:
                yield found
    except (requests.ConnectionError, requests.Timeout) as error:
        raise TransientStoreError(f"{named} gave no answer ({type(error).__name__})") from None
    except APIError as error:
        raise _refused(named, error) from None
    except OSError as error:
        raise InputError(f"{named} cannot be read: {error.strerror or error}") from error
    except UNUSABLE as error:
        raise InputError(f"{named} cannot be read as STAC: {error}") from error


def _is_document(location: str) -> bool:
    """Whether an item or a collection of items stands where an API could."""
    reader = _reader()
    try:
        value: object = reader.json_loads(reader.read_text(location))
    except Unreadable:
        return False
    return isinstance(value, dict) and value.get("type") in ("Feature", "FeatureCollection")


def _refused(named: str, error: APIError) -> StoreError:
    status = getattr(error, "status_code", None) or 0  # unset where there was no answer
    if status == 429 or status >= 500 or status == 0:
        return TransientStoreError(f"{named} answered {status or 'nothing'}")
    return PermanentStoreError(f"{named} answered {status}: {error!s:.200}")


def _location(place: str) -> str:
    if is_http(place):
        check_host(place)
        parts = urlsplit(place)
        if not parts.path.strip("/") and "@" not in parts.netloc:
            return place  # an API may be a host and nothing more
    return canonical_location(place)


class _Reader(StacApiIO):
    """Reads from S3 too, as sources are read."""

    def read_text(self, source: Any, *args: Any, **kwargs: Any) -> str:
        href = source.get_absolute_href() if isinstance(source, Link) else str(source)
        try:
            if href and is_s3(href):
                check_readable(href)
                return read_whole(href, MAX_BYTES).decode()
            if href and is_http(href):
                check_host(href)  # for pystac it would be one more that gives no answer
            return super().read_text(source, *args, **kwargs)
        except UnicodeDecodeError as error:
            raise Unreadable(f"its byte {error.start} is no UTF-8 text") from error

    def json_loads(self, txt: str, *args: Any, **kwargs: Any) -> Any:
        """The JSON's value; a byte order mark before it is passed over (RFC 8259, 8.1)."""
        try:
            return json.loads(txt.removeprefix("\ufeff"))
        except RecursionError as error:
            raise Unreadable("its JSON is nested too deeply") from error
        except ValueError as error:
            raise Unreadable(f"it is no whole JSON ({error})") from error

    def stac_object_from_dict(self, d: Any, *args: Any, **kwargs: Any) -> STACObject:
        """A catalog without the links that lead nowhere, or an item that was checked."""
        if not isinstance(d, dict) or d.get("type") == "Feature":
            check_item(d)
            return super().stac_object_from_dict(d, *args, **kwargs)
        kept, odd = parted(d)
        found = super().stac_object_from_dict(kept, *args, **kwargs)
        if isinstance(found, Catalog):
            found.extra_fields[_ODD] = odd
        return found


def _reader() -> _Reader:
    return _Reader(timeout=DEADLINE_S, max_retries=2)


def _searched(location: str, wanted: Search) -> Iterator[Offer]:
    client = Client.open(location, stac_io=_reader())
    days = None
    if wanted.since or wanted.until:
        days = "/".join(day.isoformat() if day else ".." for day in (wanted.since, wanted.until))
    found = client.search(
        collections=list(wanted.collections) or None, datetime=days, max_items=wanted.at_most
    )
    return _listed(found.items_as_dicts(), location, client)


def _listed(raw: Iterable[Any], location: str, root: Catalog | None = None) -> Iterator[Offer]:
    place = public_uri(location)
    for number, one in enumerate(raw, 1):
        name = f"{item_name(one, number)} of {place}"
        given = one if isinstance(one, dict) else {}
        yield Offer(name, place, partial(_item, one, place, root), given)


def _item(raw: Any, place: str, root: Catalog | None) -> Item:
    check_item(raw)
    for link in raw.get("links", ()):
        if link["rel"] == "self":  # what relative links are relative to
            check_linked(link)
    item = Item.from_dict(raw, root=root)
    if root is None and item.get_self_href() is None:
        item.set_self_href(place)  # links that are relative are so to the document
    return item


def _filed(location: str) -> Iterable[Offer]:
    reader, place = _reader(), public_uri(location)
    value = reader.json_loads(reader.read_text(location))
    if not isinstance(value, dict):
        raise InputError(f"{place} holds no JSON object, so it is no STAC")
    if value.get("type") == "FeatureCollection" and isinstance(value.get("features"), list):
        return _listed(_items(reader, value, location), location)
    if value.get("type") == "Feature":
        read = partial(_of_kind, Item, partial(reader.stac_object_from_dict, value, place))
        return [Offer(f"{item_name(value, 1)} of {place}", place, read, value)]
    found = reader.stac_object_from_dict(value, place)
    if isinstance(found, Catalog):  # and every collection
        return _walked(found, (place,))
    raise InputError(f"{place} is no STAC item, item collection or catalog")


def _items(reader: StacApiIO, page: dict[str, Any], location: str) -> Iterable[Any]:
    """The items of a collection; of a search's page those of every page that the server has."""
    if not _has_more(page):
        return list(page["features"])
    if not is_http(location):
        raise InputError(
            f"{public_uri(location)} is one page of a search that has more: name the search's own "
            "URL, or save all pages as one file"
        )
    pages = reader.get_pages(location, method="GET")
    return (item for found in pages for item in found.get("features") or ())


def _has_more(page: dict[str, Any]) -> bool:
    links = page.get("links")
    every = links if isinstance(links, list) else []
    return any(isinstance(link, dict) and link.get("rel") == "next" for link in every)


def _walked(catalog: Catalog, above: tuple[str, ...]) -> Iterator[Offer]:
    """``above`` leads here from the catalog that was given, which it begins with."""
    for odd in catalog.extra_fields.pop(_ODD, ()):
        yield Offer(f"a link of {above[-1]}", above[-1], partial(_raise, odd))
    for link in catalog.get_links("item"):
        href = public_uri(str(link.get_absolute_href()))
        yield Offer(f"item at {href}", href, partial(_linked, link, catalog, Item))
    for link in catalog.get_links("child"):
        href = public_uri(str(link.get_absolute_href()))
        if href in above:
            circle = " to ".join([*above[above.index(href) :], href])
            raise InputError(f"the catalogs lead in a circle, {circle}: mend their child links")
        try:
            child = _linked(link, catalog, Catalog)
        except (*UNUSABLE, OSError, InputError, PermanentStoreError, APIError) as error:
            yield Offer(f"catalog at {href}", href, partial(_raise, error))
        else:
            yield from _walked(child, (*above, href))


def _raise(error: Exception) -> Item:
    raise error


def _linked(link: Link, catalog: Catalog, kind: type[A]) -> A:
    return _of_kind(kind, partial(_target, link, catalog))


def _target(link: Link, catalog: Catalog) -> object:
    try:
        return link.resolve_stac_object(root=catalog.get_root()).target
    except STACError as error:  # pystac says by itself only that it is none
        raise error.__cause__ or error from None


def _of_kind(kind: type[A], read: Callable[[], object]) -> A:
    found = read()
    if not isinstance(found, kind):
        raise InputError(f"what stands there is no {kind.__name__}, but a {type(found).__name__}")
    return found


def _is_wanted(item: Item, wanted: Search) -> bool:
    if wanted.collections and item.collection_id not in wanted.collections:
        return False
    first, last = span(item)
    if wanted.since and not (last and last.date() >= wanted.since):
        return False
    return not wanted.until or bool(first and first.date() <= wanted.until)
