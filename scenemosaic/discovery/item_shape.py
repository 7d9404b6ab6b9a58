"""What a STAC item has to hold for its scene to be found, field by field. Pure."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

from pystac.utils import str_to_datetime

from scenemosaic.errors import InputError

A = TypeVar("A")
SHOWN: Final = 200
_TIMES: Final = ("datetime", "start_datetime", "end_datetime", "created", "updated")
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
        _check_asset(f"assets.{json.dumps(name)[1:-1]:.80}", asset)
    for number, link in enumerate(_optional(raw, "links", list, "a list of links", [])):
        if not _holds(link, "rel") or not _holds(link, "href"):
            raise _wrong(f"links[{number}]", link, "a link with rel and href")
    texts = _optional(raw, "stac_extensions", list, "a list of texts", [])
    if not all(isinstance(one, str) for one in texts):
        raise _wrong("stac_extensions", texts, "a list of texts")


def said(fields: Mapping[str, Any], name: str, kind: type[A], meant: str) -> A | None:
    """A field's value, None where there is none. Raises InputError where it is of another kind."""
    value = fields.get(name)
    if value is None or type(value) is kind:
        return value
    raise _wrong(name, value, meant)


def _check_times(properties: Mapping[str, Any]) -> None:
    for name in _TIMES:
        text = said(properties, name, str, _TIME)
        if text is not None and not _is_time(text):
            raise _wrong(name, text, _TIME)
    if properties.get("datetime") is None and not {"start_datetime", "end_datetime"} <= {
        *properties
    }:
        raise _wrong(
            "datetime",
            properties.get("datetime", _MISSING),
            f"{_TIME}, or null beside start_datetime and end_datetime",
        )


def _is_time(text: str) -> bool:
    try:
        return isinstance(str_to_datetime(text), datetime)
    except (ValueError, OverflowError):
        return False


def _check_asset(place: str, asset: object) -> None:
    if not isinstance(asset, Mapping):
        raise _wrong(place, asset, "an object with an href")
    if not _holds(asset, "href"):
        raise _wrong(f"{place}.href", asset.get("href", _MISSING), "a link, as text")
    if not isinstance(asset.get("type"), str | None):
        raise _wrong(f"{place}.type", asset["type"], "a media type, as text")
    roles = asset.get("roles")
    if roles is not None and not (
        isinstance(roles, list) and all(isinstance(one, str) for one in roles)
    ):
        raise _wrong(f"{place}.roles", roles, "a list of texts")


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
