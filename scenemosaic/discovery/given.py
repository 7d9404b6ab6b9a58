"""What a user names as sources: rasters, or STAC documents that lead to them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scenemosaic.discovery.selection import Selection, find
from scenemosaic.errors import InputError
from scenemosaic.plans.item_facts import ItemFacts
from scenemosaic.sources.locations import canonical_location, is_http, is_stac, public_uri

_MOST_ITEMS: Final = 1000


@dataclass(frozen=True, slots=True)
class Given:
    """One raster: its canonical location, and what a STAC item says of it, if one led here."""

    location: str
    facts: ItemFacts | None = None


def given_sources(
    sources: Iterable[str], asset: str | None = None, item: ItemFacts | None = None
) -> list[Given]:
    """The rasters that are meant, in the order in which they were named.

    A source whose name ends in ``.json`` or ``.geojson``, or that is an API's item, items or
    search, is a STAC document; ``asset`` names the asset of its items that is the scene, which
    may be left out where there is one. With an ``asset`` so is a URL whose name has no ending.
    ``item`` is what such a document says of the one raster that is given itself.
    Raises InputError naming what leads to no raster,
    StoreError where a document cannot be read.
    """
    locations = [canonical_location(source) for source in sources]
    if asset is not None and not any(_leads(location, asset) for location in locations):
        raise InputError(f"asset {asset!r} is one of a STAC item, and no source is such: leave it")
    found = [given for location in locations for given in _given(location, asset)]
    if item is None:
        return found
    if len(found) != 1 or found[0].facts is not None:
        raise InputError(f"item {item.item_id:.200} is of one raster, and no STAC: leave it out")
    return [Given(found[0].location, item)]


def _leads(location: str, asset: str | None) -> bool:
    name = public_uri(location).rpartition("/")[2]
    return is_stac(location) or (asset is not None and is_http(location) and "." not in name)


def _given(location: str, asset: str | None) -> list[Given]:
    if not _leads(location, asset):
        return [Given(location)]
    found = find(Selection(stac=location, asset=asset, at_most=_MOST_ITEMS))
    refused = next((one.refused for one in found if one.refused is not None), None)
    if refused is not None:
        raise InputError(refused)
    if not found:
        raise InputError(f"{public_uri(location)} leads to no item")
    return [Given(one.source, one.facts) for one in found]
