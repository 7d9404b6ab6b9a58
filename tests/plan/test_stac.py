"""The item: valid, the same from every writer, placed right on the Earth."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pystac
import pytest
import rasterio
from hypothesis import given
from hypothesis import strategies as st
from pystac.validation.local_validator import LocalValidator

from scenemosaic.bandmath.computed import Computed
from scenemosaic.errors import InputError
from scenemosaic.grids.crs_text import wkt_of
from scenemosaic.grids.grid import Affine6, Grid
from scenemosaic.keys import check_key, collection_key
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import Plan
from scenemosaic.publishing.band_facts import band_names, header_facts
from scenemosaic.publishing.collection import collection_json
from scenemosaic.publishing.footprint import footprint
from scenemosaic.publishing.mosaic_facts import FileFacts, MosaicFacts
from scenemosaic.publishing.stac import item_json
from scenemosaic.recipes.recipe import Recipe
from tests.plan.rasters import write_raster

MARS = (
    'PROJCS["Equirectangular MARS",GEOGCS["GCS_MARS",DATUM["D_MARS",SPHEROID["MARS",3396190,0]],'
    'PRIMEM["Reference_Meridian",0],UNIT["degree",0.0174532925199433]],'
    'PROJECTION["Equirectangular"],PARAMETER["standard_parallel_1",0],'
    'PARAMETER["central_meridian",180],PARAMETER["false_easting",0],'
    'PARAMETER["false_northing",0],UNIT["metre",1]]'
)
DISK = wkt_of("+proj=geos +h=35785831 +lon_0=-75 +sweep=x +ellps=GRS80")


def grid(crs: str, transform: Affine6, width: int = 100, height: int = 100) -> Grid:
    return Grid(wkt_of(crs), transform, width, height)


def plan(place: Grid, **changes: Any) -> Plan:
    recipe = Recipe(place, "uint16", 2, 0, False, 512, predictor=2)
    return replace(Plan((Pin(None, "a" * 64, None, None, 9),), recipe), **changes)


UTM = grid("EPSG:32631", (10.0, 0.0, 5e5, 0.0, -10.0, 4e6))
FACTS = MosaicFacts(FileFacts(1234, "e" * 64), "d" * 64)
TIMED = {"datetime": "2024-05-01T00:00:00Z", "datetime_source": "option"}


def item(place: Grid = UTM, facts: MosaicFacts = FACTS, **changes: Any) -> dict[str, Any]:
    value = json.loads(item_json(plan(place, **changes), facts))
    errors = list(LocalValidator().item_validator("1.1.0").iter_errors(value))
    assert not errors, errors
    # pystac changes what it is given
    read = pystac.Item.from_dict(json.loads(json.dumps(value)))
    assert read.to_dict(include_self_link=False)["properties"] == value["properties"]
    result: dict[str, Any] = value
    return result


def test_the_item_says_what_the_mosaic_is() -> None:
    value = item(**TIMED)
    assert value["id"] == plan(UTM, **TIMED).job_id
    assert value["properties"]["datetime"] == "2024-05-01T00:00:00Z"
    assert value["properties"]["proj:code"] == "EPSG:32631"
    assert value["properties"]["proj:shape"] == [100, 100]
    assert value["properties"]["proj:transform"][:6] == [10, 0, 5e5, 0, -10, 4e6]
    assert value["properties"]["proj:bbox"] == [500_000, 3_999_000, 501_000, 4_000_000]
    assert value["properties"]["scenemosaic:sources"] == [{"sha256": "a" * 64, "size_bytes": 9}]
    assert value["links"] == []
    data, preview = value["assets"]["data"], value["assets"]["preview"]
    assert (data["href"], preview["href"]) == ("./mosaic.tif", "./preview.png")
    assert data["type"] == "image/tiff; application=geotiff; profile=cloud-optimized"
    assert data["file:size"] == 1234
    assert data["file:checksum"] == "1220" + "e" * 64
    assert (data["data_type"], data["nodata"]) == ("uint16", 0)


def test_bands_as_the_header_has_them(tmp_path: Path) -> None:
    pixels = np.zeros((4, 8, 8), "uint16")
    path = write_raster(tmp_path / "a.tif", pixels)
    with rasterio.open(path, "r+") as dataset:
        dataset.descriptions = ("red", "", "red", "b2")
        dataset.units = ("DN", "", "", "")
        dataset.scales, dataset.offsets = (1.0, 1e-4, 1.0, 1.0), (0.0, -0.1, 0.0, 0.0)
        dataset.update_tags(AREA_OR_POINT="Point")
    facts = replace(FACTS, header=header_facts(Path(path).read_bytes()))
    data = item(facts=facts)["assets"]["data"]
    assert data["bands"] == [
        {"name": "red", "unit": "DN"},
        {"name": "b2", "raster:scale": 1e-4, "raster:offset": -0.1},
        {"name": "b3", "description": "red"},
        {"name": "b4", "description": "b2"},
    ]
    assert data["raster:sampling"] == "point"


@given(st.lists(st.sampled_from(["", " ", "red", "b1", "b2", "b2_", "b3"]), max_size=8))
def test_no_two_bands_have_one_name(descriptions: list[str]) -> None:
    names = band_names(descriptions)
    assert len(set(names)) == len(names) == len(descriptions)
    assert all(names)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "float64", "complex64"])
def test_every_type_of_pixels_has_its_name(dtype: str) -> None:
    kept = {"predictor": 1, "nodata": None, "resampling": "nearest"}
    recipe = replace(plan(UTM).recipe, dtype=dtype, **kept)
    data = item(recipe=recipe)["assets"]["data"]
    assert data["data_type"] == {"complex64": "cfloat32"}.get(dtype, dtype)
    assert "nodata" not in data


def test_the_size_of_a_pixel_is_said_where_it_is_in_metres() -> None:
    feet = grid("EPSG:2263", (10.0, 0.0, 9e5, 0.0, -10.0, 2e5))
    degrees = grid("EPSG:4326", (0.1, 0.0, 5.0, 0.0, -0.1, 50.0))
    data = [item(place)["assets"]["data"] for place in (UTM, feet, degrees)]
    assert [one.get("raster:spatial_resolution") for one in data] == [
        10.0,
        pytest.approx(3.048006),
        None,
    ]


def test_a_place_of_no_geographic_meaning() -> None:
    local = 'ENGCRS["site",EDATUM["site"],CS[Cartesian,2],AXIS["x",east],AXIS["y",north],'
    value = item(grid(local + 'LENGTHUNIT["metre",1]]', (1.0, 0.0, 0.0, 0.0, -1.0, 0.0)), **TIMED)
    assert value["geometry"] is None
    assert value["properties"]["proj:code"] is None
    assert value["properties"]["proj:bbox"] == [0, -100, 100, 0]


def test_the_preview_is_described_as_it_is_stored() -> None:
    preview = item(facts=replace(FACTS, preview=FileFacts(7, "f" * 64)))["assets"]["preview"]
    assert (preview["file:size"], preview["file:checksum"]) == (7, "1220" + "f" * 64)


def test_a_title_for_people() -> None:
    assert item(title="Harz, May 2024")["properties"]["title"] == "Harz, May 2024"
    assert plan(UTM, title="Harz").job_id != plan(UTM).job_id, "it is part of what the item says"
    assert b"title" not in plan(UTM).canonical
    for bad in ("", " a", "a" * 201, "a\nb"):
        with pytest.raises(InputError, match="a title is"):
            plan(UTM, title=bad)


def test_a_span_of_several_sources() -> None:
    properties = item(start_datetime="2024-04-01T00:00:00Z", **TIMED)["properties"]
    assert properties["datetime"] == properties["end_datetime"] == "2024-05-01T00:00:00Z"
    assert properties["start_datetime"] == "2024-04-01T00:00:00Z"


def test_how_it_was_made() -> None:
    properties = item()["properties"]
    assert properties["processing:version"] == properties["processing:software"]["scenemosaic"]
    assert properties["processing:lineage"].startswith("Mosaic of 1 source; windows of 512 px")
    assert properties["scenemosaic:recipe_sha256"]
    assert "processing:expression" not in properties
    recipe = replace(plan(UTM).recipe, computed=Computed(bands=(4, 3), unscale=True))
    assert item(recipe=recipe)["properties"]["processing:expression"] == {
        "format": "scenemosaic",
        "expression": "b4, b3",
        "unscaled": True,
    }


def test_no_link_is_absolute_or_signed() -> None:
    value = item(collection="scenes")
    links = [*value["links"], *value["assets"].values()]
    assert all(one["href"].startswith(("./", "../")) and "?" not in one["href"] for one in links)


def test_every_extension_that_is_used_is_named() -> None:
    value = item(facts=replace(FACTS, preview=FileFacts(7, "f" * 64)))
    names = {*value["properties"], *(name for one in value["assets"].values() for name in one)}
    used = {name.partition(":")[0] for name in names if ":" in name} - {"scenemosaic"}
    named = {"projection": "proj"}
    said = [uri.split("/")[3] for uri in value["stac_extensions"]]
    assert {named.get(name, name) for name in said} == used


@pytest.mark.parametrize("name", ["harz", "Ü/..", "a b", "x" * 256])
def test_a_collection_s_document_is_valid_and_found_by_its_link(name: str) -> None:
    data = collection_json(name)
    errors = list(LocalValidator().collection_validator("1.1.0").iter_errors(json.loads(data)))
    assert not errors, errors
    assert pystac.Collection.from_dict(json.loads(data)).id == name
    assert data == collection_json(name)
    key = check_key(collection_key(name))
    assert key.isascii()
    if "/" not in name:
        (link,) = item(collection=name)["links"]
        assert f"mosaics/{link['href'].removeprefix('../')}" == key


def test_an_unknown_checksum_is_left_out() -> None:
    assert (
        "file:checksum"
        not in item(facts=replace(FACTS, file=FileFacts(1234, None)))["assets"]["data"]
    )


def test_an_unknown_time_is_said_to_be_unknown() -> None:
    properties = item()["properties"]
    assert properties["datetime"] is None
    assert properties["start_datetime"] < properties["end_datetime"]
    assert properties["scenemosaic:datetime_source"] == "unknown"


def test_a_collection_has_its_link() -> None:
    value = item(collection="scenes")
    assert value["collection"] == "scenes"
    assert [link["rel"] for link in value["links"]] == ["collection"]
    assert not value["links"][0]["href"].startswith("/")


def test_nodata_that_json_has_no_number_for() -> None:
    recipe = replace(plan(UTM).recipe, dtype="float32", predictor=3, nodata=float("nan"))
    assert item(recipe=recipe)["assets"]["data"]["nodata"] == "nan"


def test_the_bytes_are_always_the_same() -> None:
    assert item_json(plan(UTM), FACTS) == item_json(plan(UTM), FACTS)


def test_another_planet_has_no_place_on_this_one() -> None:
    place = grid(MARS, (5.0, 0.0, 7e6, 0.0, -5.0, -8e5))
    assert footprint(place) == (None, None)
    value = item(place, **TIMED)
    assert value["geometry"] is None
    assert "bbox" not in value
    assert value["properties"]["proj:wkt2"].startswith("PROJCRS")


def test_a_disk_is_the_box_of_what_is_on_the_earth() -> None:
    step = 5_434_895 * 2 / 100
    geometry, bbox = footprint(grid(DISK, (step, 0.0, -5_434_895.0, 0.0, -step, 5_434_895.0)))
    assert geometry is not None
    assert bbox is not None
    assert -160 < bbox[0] < -130
    assert -20 < bbox[2] < 10


@pytest.mark.parametrize("west", [175.0, -185.0, 175.0 - 360])
def test_across_the_antimeridian_the_footprint_is_split(west: float) -> None:
    geometry, bbox = footprint(grid("EPSG:4326", (0.1, 0.0, west, 0.0, -0.1, 5.0)))
    assert geometry is not None
    assert geometry["type"] == "MultiPolygon"
    assert bbox == [175.0, -5.0, -175.0, 5.0]


def test_utm_across_the_antimeridian() -> None:
    geometry, bbox = footprint(grid("EPSG:32601", (1000.0, 0.0, 300_000.0, 0.0, -1000.0, 7e6)))
    assert geometry is not None
    assert bbox is not None
    assert geometry["type"] == "MultiPolygon"
    assert bbox[0] > 170
    assert bbox[2] < -170


@pytest.mark.parametrize("west", [-180.0, 0.0])
def test_the_whole_earth(west: float) -> None:
    _, bbox = footprint(grid("EPSG:4326", (1.0, 0.0, west, 0.0, -1.0, 90.0), 360, 180))
    assert bbox == [-180.0, -90.0, 180.0, 90.0]


@pytest.mark.parametrize(("crs", "pole"), [("EPSG:3413", 90.0), ("EPSG:3031", -90.0)])
def test_round_a_pole(crs: str, pole: float) -> None:
    geometry, bbox = footprint(grid(crs, (40_000.0, 0.0, -2e6, 0.0, -40_000.0, 2e6)))
    assert geometry is not None
    assert bbox is not None
    assert (bbox[0], bbox[2]) == (-180.0, 180.0)
    assert pole in (bbox[1], bbox[3])


@given(
    st.floats(-400, 400),
    st.floats(-80, 80),
    st.floats(0.001, 3),
    st.floats(-3, 3).filter(lambda size: abs(size) > 0.001),
)
def test_geometries_are_valid_geojson(
    west: float, north: float, across: float, down: float
) -> None:
    place = grid("EPSG:4326", (across, 0.0, west, 0.0, down, north))
    geometry, bbox = footprint(place)
    if geometry is None or bbox is None:
        return
    parts = geometry["coordinates"]
    rings = [part[0] for part in parts] if geometry["type"] == "MultiPolygon" else [parts[0]]
    for ring in rings:
        assert ring[0] == ring[-1]
        assert len(ring) >= 4
        assert all(-180 <= lon <= 180 and -90 <= lat <= 90 for lon, lat in ring)
        area = sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise(ring))
        assert area > 0
    assert -180 <= bbox[0] <= 180
    assert bbox[1] < bbox[3]
