"""The STAC 1.1 item of a finished mosaic: the same bytes from every writer, no clock in it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rasterio.crs import CRS
from rasterio.errors import CRSError

from scenemosaic.canonical import encode, spell_number
from scenemosaic.crs_text import code_or_wkt
from scenemosaic.footprint import footprint
from scenemosaic.grid import Grid
from scenemosaic.keys import MOSAIC_FILE, PREVIEW_FILE, TIFF_CONTENT_TYPE, revision_path
from scenemosaic.plan import Plan
from scenemosaic.recipe import Recipe
from scenemosaic.software import software_versions

STAC_VERSION: Final = "1.1.0"
_EXTENSIONS: Final = (
    "https://stac-extensions.github.io/projection/v2.0.0/schema.json",
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
_MULTIHASH_SHA256: Final = "1220"


@dataclass(frozen=True, slots=True)
class MosaicFacts:
    """What the item says of the mosaic; ``sha256`` is None where its bytes were never seen.

    ``rows_sha256`` is the digest of the rows that it was built from (``rows_digest``),
    ``waived`` holds each waived window's reason.
    """

    size_bytes: int
    digest: str
    sha256: str | None
    rows_sha256: str | None = None
    revision: int = 0
    waived: Mapping[str, str] = field(default_factory=dict)


def item_json(plan: Plan, facts: MosaicFacts) -> bytes:
    """The bytes of ``item.json``, whose links lead to the files of the revision.

    A collection's own document is expected at ``collection.json`` in the
    directory of all mosaics.
    """
    geometry, bbox = footprint(plan.recipe.grid)
    item: dict[str, Any] = {
        "type": "Feature",
        "stac_version": STAC_VERSION,
        "stac_extensions": list(_EXTENSIONS),
        "id": plan.job_id,
        "geometry": geometry,
        "properties": _properties(plan) | _state(facts),
        "links": [],
        "assets": {"data": _data_asset(plan.recipe, facts), "preview": _preview(facts.revision)},
    }
    if bbox is not None:
        item["bbox"] = bbox
    if plan.collection is not None:
        item["collection"] = plan.collection
        item["links"] = [_COLLECTION_LINK]
    return encode(item)


def href(revision: int, name: str) -> str:
    """How the item spells the link to a file of a revision."""
    return f"./{revision_path(revision, name)}"


def recipe_sha256(recipe: Recipe) -> str:
    """The SHA-256 of the recipe's canonical JSON, which the item carries."""
    return hashlib.sha256(encode(recipe.to_json())).hexdigest()


def _preview(revision: int) -> dict[str, Any]:
    return {"href": href(revision, PREVIEW_FILE), "type": "image/png", "roles": ["thumbnail"]}


_COLLECTION_LINK: Final = {
    "rel": "collection",
    "href": "../collection.json",
    "type": "application/json",
}


def _properties(plan: Plan) -> dict[str, Any]:
    when = _ANY_TIME if plan.datetime is None else {"datetime": plan.datetime}
    return {
        **when,
        **_projection(plan.recipe.grid),
        "processing:software": dict(software_versions()),
        "scenemosaic:datetime_source": plan.datetime_source,
        "scenemosaic:recipe_sha256": recipe_sha256(plan.recipe),
        "scenemosaic:sources": [pin.to_json() for pin in plan.sources],
    }


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
    asset: dict[str, Any] = {
        "href": href(facts.revision, MOSAIC_FILE),
        "type": TIFF_CONTENT_TYPE,
        "roles": ["data"],
        "data_type": _STAC_TYPES.get(recipe.dtype, recipe.dtype),
        "bands": [{"name": f"b{band}"} for band in range(1, recipe.bands + 1)],
        "file:size": facts.size_bytes,
        "scenemosaic:digest": facts.digest,
    }
    if recipe.nodata is not None:
        asset["nodata"] = spell_number(recipe.nodata)
    if facts.sha256 is not None:
        asset["file:checksum"] = _MULTIHASH_SHA256 + facts.sha256
    return asset
