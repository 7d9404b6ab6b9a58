"""Scenes of a STAC API's search, or of a STAC file: item, item collection, or catalog."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
from urllib.parse import urlsplit

import requests
from pystac import Asset, Catalog, Item, ItemCollection, STACError, STACTypeError
from pystac_client import Client
from pystac_client.exceptions import APIError
from pystac_client.stac_api_io import StacApiIO

from scenemosaic.discovery.found import Found
from scenemosaic.errors import InputError, PermanentStoreError, StoreError, TransientStoreError
from scenemosaic.locations import canonical_location, is_http, public_uri

DEADLINE_S: Final = 60
_RASTERS: Final = ("image/tiff", "image/jp2", "image/vnd.stac.geotiff")
_FILES: Final = (".json", ".geojson")


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
    """Every item's scene, in the order of the source.

    Raises InputError naming the item where one is not usable, StoreError where the API or
    file cannot be read.
    """
    named = public_uri(wanted.place)
    try:
        for item in _items(wanted):
            yield _found(item, wanted.asset)
    except (requests.ConnectionError, requests.Timeout) as error:
        raise TransientStoreError(f"{named} gave no answer ({type(error).__name__})") from None
    except APIError as error:
        raise _refused(named, error) from None
    except (STACError, STACTypeError, KeyError, TypeError, ValueError, OSError) as error:
        raise InputError(f"{named} cannot be read as STAC: {error}") from error


def _refused(named: str, error: APIError) -> StoreError:
    status = getattr(error, "status_code", None) or 0  # unset where there was no answer
    if status == 429 or status >= 500 or status == 0:
        return TransientStoreError(f"{named} answered {status or 'nothing'}")
    return PermanentStoreError(f"{named} answered {status}: {error!s:.200}")


def _items(wanted: Search) -> Iterator[Item]:
    location = _location(wanted.place)
    reader = StacApiIO(timeout=DEADLINE_S, max_retries=2)
    if is_http(location) and not location.partition("?")[0].endswith(_FILES):
        return _searched(Client.open(location, stac_io=reader), wanted)
    return (item for item in _filed(reader, location) if _is_wanted(item, wanted))


def _location(place: str) -> str:
    parts = urlsplit(place)
    if is_http(place) and not parts.path.strip("/") and "@" not in parts.netloc:
        return place  # an API may be a host and nothing more
    return canonical_location(place)


def _searched(client: Client, wanted: Search) -> Iterator[Item]:
    span = None
    if wanted.since or wanted.until:
        span = "/".join(day.isoformat() if day else ".." for day in (wanted.since, wanted.until))
    found = client.search(
        collections=list(wanted.collections) or None, datetime=span, max_items=wanted.at_most
    )
    return found.items()


def _filed(reader: StacApiIO, location: str) -> Iterable[Item]:
    value = json.loads(reader.read_text(location))
    if not isinstance(value, dict):
        raise InputError(f"{public_uri(location)} holds no JSON object, so it is no STAC")
    if ItemCollection.is_item_collection(value):
        return ItemCollection.from_dict(value)
    found = reader.stac_object_from_dict(value, location)
    if isinstance(found, Catalog):  # and every collection
        return found.get_items(recursive=True)
    if isinstance(found, Item):
        return [found]
    raise InputError(f"{public_uri(location)} is no STAC item, item collection or catalog")


def _is_wanted(item: Item, wanted: Search) -> bool:
    if wanted.collections and item.collection_id not in wanted.collections:
        return False
    first, last = _span(item)
    if wanted.since and not (last and last.date() >= wanted.since):
        return False
    return not wanted.until or bool(first and first.date() <= wanted.until)


def _span(item: Item) -> tuple[datetime | None, datetime | None]:
    if item.datetime is not None:
        moment = _in_utc(item.datetime)
        return moment, moment
    span = item.common_metadata
    return _in_utc(span.start_datetime), _in_utc(span.end_datetime)


def _in_utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _found(item: Item, name: str | None) -> Found:
    source = canonical_location(str(_asset(item, name).get_absolute_href()))
    seen = _in_utc(item.common_metadata.updated or item.common_metadata.created) or _span(item)[0]
    when = _rfc3339(seen) if seen else ""
    taken = _in_utc(item.datetime)
    return Found(source, when or item.id, when, _rfc3339(taken) if taken else None)


def _asset(item: Item, name: str | None) -> Asset:
    if name is not None:
        if name not in item.assets:
            raise InputError(
                f"item {item.id} has no asset {name!r}; it has {', '.join(sorted(item.assets))}"
            )
        return item.assets[name]
    rasters = {key: one for key, one in item.assets.items() if _is_raster(one)}
    if len(rasters) != 1:
        raise InputError(
            f"item {item.id} has {len(rasters)} raster assets ({', '.join(sorted(rasters))}); "
            "name the one that is the scene"
        )
    return next(iter(rasters.values()))


def _is_raster(asset: Asset) -> bool:
    media = (asset.media_type or "").partition(";")[0].strip().lower()
    return media in _RASTERS and not {"thumbnail", "overview"} & set(asset.roles or ())


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
