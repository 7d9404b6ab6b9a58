"""What an item shows of how its job was asked for. Pure.

Whether it shows enough is proved by the job's ID, so nothing here has to be sure.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from scenemosaic.canonical import read_number
from scenemosaic.errors import InputError
from scenemosaic.plans.plan import PlanOptions

# As processing:lineage says it.
_METHOD: Final = re.compile(r", where they overlap by (\w+)")
_WARP: Final = re.compile(r", warped by (\w+)")
_BANDS: Final = re.compile(r"b[1-9][0-9]*(, b[1-9][0-9]*)*")


def options_of(item: Mapping[str, Any], options: PlanOptions) -> PlanOptions:
    """``options`` with time, title, collection, band maths, merging and grid as the item has them.

    Raises InputError where the item is none of this pipeline.
    """
    properties = item["properties"]
    asked = properties["scenemosaic:datetime_source"] == "option"
    options = replace(
        options,
        datetime=properties["datetime"] if asked else None,
        collection=item.get("collection"),
        title=properties.get("title"),
    )
    try:
        return _computed(item, _merged(properties, options))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"its item does not say how it was made: {error!r:.200}") from error


def _merged(properties: Mapping[str, Any], options: PlanOptions) -> PlanOptions:
    lineage = properties.get("processing:lineage", "")
    if (method := _METHOD.search(lineage)) is None:
        return options
    warp = _WARP.search(lineage)
    options = replace(options, method=method[1], warp_resampling=warp[1] if warp else None)
    x, b, _c, d, y, _f = properties["proj:transform"][:6]
    if b or d:  # turned, which cannot be asked for: it is that of the sources
        return options
    crs = properties["proj:code"] or properties["proj:wkt2"]
    bounds = tuple(properties["proj:bbox"])
    return replace(options, crs=crs, resolution=(abs(x), abs(y)), bounds=bounds)


def _computed(item: Mapping[str, Any], options: PlanOptions) -> PlanOptions:
    found = item["properties"].get("processing:expression")
    if found is None:
        return options
    text, data = str(found["expression"]), item["assets"]["data"]
    chosen = _BANDS.fullmatch(text) is not None
    bands = tuple(int(band[1:]) for band in text.split(", ")) if chosen else None
    nodata = read_number(data["nodata"], "nodata") if "nodata" in data else None
    return replace(
        options,
        bands=bands,
        expression=None if chosen else text,
        unscale=found.get("unscaled", False),
        # A number of sources has a type of its own.
        dtype=None if options.method == "count" else data["data_type"],
        nodata=nodata,
    )
