"""What a STAC item has to hold for its scene to be found, field by field. Pure."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from pystac import Asset
from pystac.utils import str_to_datetime

from scenemosaic.errors import InputError
from scenemosaic.moments import in_utc

A = TypeVar("A")
SHOWN: Final = 200
_SPAN: Final = ("start_datetime", "end_datetime")
_TIME: Final = "a time such as 2024-05-01T10:20:30Z"
_MISSING: Final = object()


def check_item(raw: object) -> None:
    """Raise InputError naming the first field that is not as STAC has it, and what it holds."""
    if not isinstance(raw, Mapping):
        raise InputError(f"it is {_told(raw)}, not a JSON object: mend the item")
    if raw.get("type") != "Feature":
        raise _wrong("type", raw.get("type", _MISSING), '"Feature"')
    _required(raw, "stac_version", str, 'a version such as "1.0.0"')
    _check_times(_required(raw, "properties", dict, "an object"))
    for name, asset in _optional(raw, "assets", dict, "an object of assets by name", {}).items():
        _check_asset(name, asset)
    for number, link in enumerate(_optional(raw, "links", list, "a list of links", [])):
        if not _holds(link, "rel") or not _holds(link, "href"):
            raise _wrong(f"links[{number}]", link, "a link with rel and href")
    if not _are_texts(raw.get("stac_extensions") or []):
        raise _wrong("stac_extensions", raw["stac_extensions"], "a list of texts")


def said(fields: Mapping[str, Any], name: str, kind: type[A], meant: str) -> A | None:
    """A field's value, None where there is none. Raises InputError where it is of another kind."""
    value = fields.get(name)
    if value is None or type(value) is kind:
        return value
    raise _wrong(name, value, meant)


def _check_times(properties: Mapping[str, Any]) -> None:
    """Those by which a scene is dated; nobody asks the others."""
    spanned = properties.get("datetime") is None
    if spanned and not properties.keys() >= {*_SPAN}:
        meant = f"{_TIME}, or null beside start_datetime and end_datetime"
        raise _wrong("datetime", properties.get("datetime", _MISSING), meant)
    came = "created" if properties.get("updated") is None else "updated"
    for name in (*(_SPAN if spanned else ("datetime",)), came):
        text = said(properties, name, str, _TIME)
        if text is not None and not _is_time(text):
            raise _wrong(name, text, _TIME)


def _is_time(text: str) -> bool:
    try:
        return isinstance(in_utc(str_to_datetime(text)), datetime)
    except (ValueError, OverflowError):
        return False


def check_kind(key: str, asset: Asset) -> None:
    """Raise InputError where media type or roles are of another kind: a raster is told by them."""
    if not isinstance(asset.media_type, str | None):
        raise _wrong(f"{_place(key)}.type", asset.media_type, "a media type, as text")
    roles: object = asset.roles
    if roles is not None and not _are_texts(roles):
        raise _wrong(f"{_place(key)}.roles", roles, "a list of texts")


def _check_asset(key: str, asset: object) -> None:
    if not isinstance(asset, Mapping):
        raise _wrong(_place(key), asset, "an object with an href")
    if not _holds(asset, "href"):
        raise _wrong(place_of(key), asset.get("href", _MISSING), "a link, as text")


def check_link(where: str, href: str) -> None:
    """Raise InputError where a link leads nowhere, before pystac takes it apart.

    Only what can be no secret is shown of it.
    """
    bare = href.partition("?")[0].partition("#")[0]
    if not bare.strip("\0 \t\r\n") or not _is_utf8(href):
        raise _wrong(where, bare, "a link to a file")
    try:
        urlsplit(href)
    except ValueError:  # whose text holds the user and password, as the link does
        raise InputError(
            f"its {where} is no link, since its host is none: mend the item, or give the source "
            "itself"
        ) from None


def check_linked(link: object) -> None:
    """The same of a link with its rel; what is none at all is left to whoever reads it."""
    if isinstance(link, Mapping) and _holds(link, "href") and _holds(link, "rel"):
        check_link(f"link (rel {link['rel']:.80})", link["href"])


def parted(catalog: dict[str, Any]) -> tuple[dict[str, Any], list[InputError]]:
    """A catalog for pystac, which takes every link apart, and what is wrong with its others.

    Of those only the links that would lead to scenes are told.
    """
    kept, odd = list[Any](), list[InputError]()
    links = catalog.get("links")
    for link in links if isinstance(links, list) else ():
        try:
            check_linked(link)
            kept.append(link)
        except InputError as error:
            if link["rel"] in ("item", "child"):
                odd.append(error)
    return catalog | ({"links": kept} if isinstance(links, list) else {}), odd


def place_of(key: str) -> str:
    """The field of an asset's link, as messages name it."""
    return f"{_place(key)}.href"


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _place(key: str) -> str:
    return f"assets.{json.dumps(key)[1:-1]:.80}"


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _holds(value: object, name: str) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get(name), str)


def _required(raw: Mapping[str, Any], name: str, kind: type[A], meant: str) -> A:
    value = raw.get(name, _MISSING)
    if not isinstance(value, kind):
        raise _wrong(name, value, meant)
    return value


def _optional(raw: Mapping[str, Any], name: str, kind: type[A], meant: str, default: A) -> A:
    return _required(raw, name, kind, meant) if name in raw else default


def _wrong(field: str, value: object, meant: str) -> InputError:
    return InputError(
        f"its {field} is {_told(value)}, not {meant}: mend the item, or give the source itself"
    )


def _told(value: object) -> str:
    return "missing" if value is _MISSING else f"{json.dumps(value):.{SHOWN}}"
