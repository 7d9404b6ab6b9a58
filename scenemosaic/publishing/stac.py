"""The STAC 1.1 item of a finished mosaic: the same bytes from every writer, no clock in it."""

import hashlib
import math
from typing import Any, Final

from rasterio.crs import CRS
from rasterio.errors import CRSError

from scenemosaic.bandmath.computed import Computed
from scenemosaic.canonical import encode, spell_number
from scenemosaic.grids.crs_text import code_or_wkt
from scenemosaic.grids.grid import Grid
from scenemosaic.keys import (
    MOSAIC_FILE,
    PREVIEW_FILE,
    TIFF_CONTENT_TYPE,
    collection_href,
    revision_path,
)
from scenemosaic.machine.software import software_versions
from scenemosaic.plans.plan import Plan
from scenemosaic.publishing.band_facts import band_names
from scenemosaic.publishing.footprint import footprint
from scenemosaic.publishing.mosaic_facts import MosaicFacts
from scenemosaic.recipes.recipe import Recipe
from scenemosaic.words import counted

STAC_VERSION: Final = "1.1.0"
_EXTENSIONS: Final = (
    "https://stac-extensions.github.io/projection/v2.0.0/schema.json",
    "https://stac-extensions.github.io/raster/v2.0.0/schema.json",
    "https://stac-extensions.github.io/file/v2.1.0/schema.json",
    "https://stac-extensions.github.io/processing/v1.2.0/schema.json",
)
# Nobody knows when: STAC wants a span then, and this one excludes nothing.
_ANY_TIME: Final = {
    "datetime": None,
    "start_datetime": "0001-01-01T00:00:00Z",
    "end_datetime": "9999-12-31T23:59:59Z",
}
_STAC_TYPES: Final = {"complex64": "cfloat32", "complex128": "cfloat64"}


def item_json(plan: Plan, facts: MosaicFacts) -> bytes:
    """The bytes of ``item.json``, whose links lead to the files of the revision."""
    geometry, bbox = footprint(plan.recipe.grid)
    item: dict[str, Any] = {
        "type": "Feature",
        "stac_version": STAC_VERSION,
        "stac_extensions": list(_EXTENSIONS),
        "id": plan.job_id,
        "geometry": geometry,
        "properties": _properties(plan) | _state(facts),
        "links": [],
        "assets": {"data": _data_asset(plan.recipe, facts), "preview": _preview(facts)},
    }
    if bbox is not None:
        item["bbox"] = bbox
    if plan.collection is not None:
        item["collection"] = plan.collection
        item["links"] = [_collection_link(plan.collection)]
    return encode(item)


def href(revision: int, name: str) -> str:
    """How the item spells the link to a file of a revision."""
    return f"./{revision_path(revision, name)}"


def recipe_sha256(recipe: Recipe) -> str:
    """The SHA-256 of the recipe's canonical JSON, which the item carries."""
    return hashlib.sha256(encode(recipe.to_json())).hexdigest()


def _preview(facts: MosaicFacts) -> dict[str, Any]:
    link = {"href": href(facts.revision, PREVIEW_FILE), "type": "image/png"}
    stored = {} if facts.preview is None else facts.preview.to_json()
    return {**link, "roles": ["thumbnail", "overview"], **stored}


def _collection_link(collection: str) -> dict[str, str]:
    return {
        "rel": "collection",
        "href": f"../{collection_href(collection)}",
        "type": "application/json",
    }


def _properties(plan: Plan) -> dict[str, Any]:
    title = {} if plan.title is None else {"title": plan.title}
    versions = dict(software_versions())
    return {
        **_time(plan),
        **title,
        **_projection(plan.recipe.grid),
        "processing:software": versions,
        "processing:version": versions["scenemosaic"],
        "processing:lineage": _lineage(plan),
        **_expression(plan.recipe.computed),
        "scenemosaic:datetime_source": plan.datetime_source,
        "scenemosaic:recipe_sha256": recipe_sha256(plan.recipe),
        "scenemosaic:sources": [pin.to_json() for pin in plan.sources],
    }


def _time(plan: Plan) -> dict[str, str | None]:
    if plan.datetime is None:
        return dict(_ANY_TIME)
    if plan.start_datetime is None:
        return {"datetime": plan.datetime}
    span = {"start_datetime": plan.start_datetime, "end_datetime": plan.datetime}
    return {"datetime": plan.datetime, **span}


def _lineage(plan: Plan) -> str:
    recipe, merge = plan.recipe, plan.recipe.merge
    how = "" if merge is None else f", where they overlap by {merge.method}"
    warped = "" if merge is None or merge.warp is None else f", warped by {merge.warp}"
    return (
        f"Mosaic of {counted(len(plan.sources), 'source')}{how}{warped}; windows of "
        f"{recipe.window_size} px, compression {recipe.compress}, overviews by {recipe.resampling}."
    )


def _expression(computed: Computed | None) -> dict[str, object]:
    """What is made of a source's bands, in the language of ``--expression``."""
    if computed is None:
        return {}
    texts = computed.expressions or tuple(f"b{band}" for band in computed.bands)
    value = {"format": "scenemosaic", "expression": ", ".join(texts)}
    return {"processing:expression": value | ({"unscaled": True} if computed.unscale else {})}


def _state(facts: MosaicFacts) -> dict[str, Any]:
    """What may change from one revision to the next; what says nothing is left out."""
    state = {
        "scenemosaic:rows_sha256": facts.rows_sha256,
        "scenemosaic:revision": facts.revision,
        "scenemosaic:waived": dict(facts.waived),
    }
    return {name: value for name, value in state.items() if value}


def _projection(grid: Grid) -> dict[str, Any]:
    code = code_or_wkt(grid.crs_wkt)
    known = code != grid.crs_wkt
    place = {"proj:code": code if known else None}
    if not known and (wkt2 := _wkt2(grid.crs_wkt)) is not None:
        place["proj:wkt2"] = wkt2
    return {
        **place,
        "proj:shape": [grid.height, grid.width],
        "proj:transform": [*grid.transform, 0.0, 0.0, 1.0],
        "proj:bbox": _bounds(grid),
    }


def _wkt2(wkt: str) -> str | None:
    try:
        return str(CRS.from_wkt(wkt).to_wkt(version="WKT2_2019"))
    except CRSError:
        return None


def _bounds(grid: Grid) -> list[float]:
    a, b, c, d, e, f = grid.transform
    corners = [(x, y) for x in (0, grid.width) for y in (0, grid.height)]
    xs = [a * x + b * y + c for x, y in corners]
    ys = [d * x + e * y + f for x, y in corners]
    return [min(xs), min(ys), max(xs), max(ys)]


def _data_asset(recipe: Recipe, facts: MosaicFacts) -> dict[str, Any]:
    known = [band.to_json() for band in facts.header.bands]
    asset: dict[str, Any] = {
        "href": href(facts.revision, MOSAIC_FILE),
        "type": TIFF_CONTENT_TYPE,
        "roles": ["data"],
        "data_type": _STAC_TYPES.get(recipe.dtype, recipe.dtype),
        "bands": known or [{"name": name} for name in band_names([""] * recipe.bands)],
        "raster:sampling": facts.header.sampling,
        "scenemosaic:digest": facts.digest,
    }
    if recipe.nodata is not None:
        asset["nodata"] = spell_number(recipe.nodata)
    if recipe.nbits is not None:
        asset["raster:bits_per_sample"] = recipe.nbits
    if (metres := _pixel_metres(recipe.grid)) is not None:
        asset["raster:spatial_resolution"] = metres
    return asset | facts.file.to_json()


def _pixel_metres(grid: Grid) -> float | None:
    """The side of a square with a pixel's area, in metres, where the CRS has such units."""
    try:
        crs = CRS.from_wkt(grid.crs_wkt)
        factor = float(crs.linear_units_factor[1]) if crs.is_projected else None
    except CRSError:
        return None
    a, b, _c, d, e, _f = grid.transform
    return None if factor is None else math.sqrt(abs(a * e - b * d)) * factor
