"""Sources that are STAC documents: the rasters they lead to, and what they say of them."""

import hashlib
import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pystac
import pytest
import rasterio

from scenemosaic.discovery import stac
from scenemosaic.discovery.given import given_sources
from scenemosaic.discovery.selection import Selection, find
from scenemosaic.errors import InputError, TransientStoreError
from scenemosaic.planning import plan_scene, survey
from scenemosaic.planning.item_check import check_facts
from scenemosaic.plans.item_facts import ItemFacts, multihash
from scenemosaic.plans.pin import Pin
from scenemosaic.plans.plan import PlanOptions
from scenemosaic.sources.locations import is_stac
from tests.discovery.test_stac import COG, item, write
from tests.plan.rasters import write_raster


@pytest.fixture
def raster(tmp_path: Path) -> bytes:
    pixels = np.arange(300).reshape(1, 15, 20).astype("uint8")
    path = write_raster(tmp_path / "a.tif", pixels)
    with rasterio.open(path, "r+") as dataset:
        dataset.update_tags(TIFFTAG_DATETIME="2020:01:01 00:00:00")
    return Path(path).read_bytes()


def described(raster: bytes, **more: Any) -> dict[str, Any]:
    """An item that leads to a.tif beside it."""
    made = item("scene-7")
    fields = {"file:checksum": "1220" + hashlib.sha256(raster).hexdigest()}
    fields |= {"file:size": len(raster)}
    asset = pystac.Asset("./a.tif", media_type=COG, extra_fields=fields | more)
    made.assets = {"visual": asset}
    return made.to_dict()


def test_an_item_beside_its_raster_is_planned(tmp_path: Path, raster: bytes) -> None:
    place = write(tmp_path / "item.json", described(raster))
    plan, locations = plan_scene([place], PlanOptions())
    assert locations == (str(tmp_path / "a.tif"),)
    assert (plan.datetime, plan.datetime_source) == ("2024-05-01T10:00:00Z", "item:scene-7")
    asked = plan_scene([place], PlanOptions(datetime="2023-01-01"))[0]
    assert asked.datetime_source == "option"
    alone = plan_scene([str(tmp_path / "a.tif")], PlanOptions())[0]
    assert alone.datetime_source == "tag:TIFFTAG_DATETIME"
    assert alone.sources == plan.sources


def test_a_span_gives_its_beginning(tmp_path: Path, raster: bytes) -> None:
    value = described(raster)
    value["properties"] |= {
        "datetime": None,
        "start_datetime": "2024-04-01T00:00:00Z",
        "end_datetime": "2024-05-01T00:00:00Z",
    }
    plan, _ = plan_scene([write(tmp_path / "item.json", value)], PlanOptions())
    assert (plan.datetime, plan.datetime_source) == ("2024-04-01T00:00:00Z", "item-start:scene-7")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"file:checksum": "1220" + "0" * 64}, r"says SHA-256 0{64} \(file:checksum\)"),
        ({"file:size": 7}, r"says 7 bytes \(file:size\)"),
    ],
)
def test_a_raster_that_is_not_as_the_item_says_is_refused(
    tmp_path: Path, raster: bytes, said: dict[str, Any], reason: str
) -> None:
    place = write(tmp_path / "item.json", described(raster, **said))
    with pytest.raises(InputError, match=rf"a\.tif: item scene-7 {reason}"):
        survey([place], PlanOptions())


def test_a_document_that_is_wrong_stops_no_other_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = "(it was listed as a scene)"
    cut = tmp_path / "cut.json"
    cut.write_text('{"type": "Feature", "ass')
    bad = write(tmp_path / "bad.json", item("b").to_dict() | {"assets": []})
    unread = "s3://me:secret@bucket/a.tif"
    given = ("/a.tif", str(cut), bad, str(tmp_path / "gone.json"), "ftp://h/x", unread, "/z.tif")
    first, *refused, last = find(Selection(scenes=given))
    assert (first.source, last.source, first.refused, last.refused) == (
        *("/a.tif", "/z.tif"),
        *(None, None),
    )
    for one, name in zip(refused, ("cut.json", "bad.json", "gone.json", "ftp:", "@"), strict=True):
        assert name in f"{one.source} {one.refused}"
        assert str(one.refused).endswith(listed)
        assert "secret" not in repr(one)
    assert "its assets is [], not an object" in str(refused[1].refused)

    def silent(wanted: Any) -> Any:
        raise TransientStoreError(f"{wanted.place} gave no answer")

    monkeypatch.setattr(stac, "search", silent)
    fault, after = find(Selection(scenes=("s3://b/item.json", "/z.tif")))
    assert (fault.source, after.source) == ("s3://b/item.json", "/z.tif")
    assert fault.refused_as is TransientStoreError


def test_another_kind_of_checksum_is_noted(tmp_path: Path, raster: bytes) -> None:
    place = write(tmp_path / "item.json", described(raster, **{"file:checksum": "1114" + "a" * 40}))
    (note,) = [note for note in survey([place], PlanOptions()).notes if "checksum" in note]
    assert "file:checksum is sha1, and only sha2-256 is compared" in note


def test_the_asset_is_chosen(tmp_path: Path) -> None:
    made = item("a")
    made.assets = {
        key: pystac.Asset(f"s3://b/{key}.tif", media_type=COG, roles=roles)
        for key, roles in {"visual": ["visual"], "nir": ["data"], "mask": []}.items()
    }
    place = write(tmp_path / "i.json", made.to_dict())
    assert given_sources([place], "visual")[0].location == "s3://b/visual.tif"
    assert given_sources([place])[0].location == "s3://b/nir.tif"  # the one that is data
    with pytest.raises(InputError, match="no asset 'red', but mask, nir, visual"):
        given_sources([place], "red")
    with pytest.raises(InputError, match="no source is such"):
        given_sources(["/a.tif"], "red")


def test_a_collection_is_several_sources_in_its_order(tmp_path: Path) -> None:
    place = write(tmp_path / "x.json", pystac.ItemCollection([item("b"), item("a")]).to_dict())
    found = given_sources(["/first.tif", place])
    assert [one.location for one in found] == [
        "/first.tif",
        "s3://scenes/b.tif",
        "s3://scenes/a.tif",
    ]
    facts = [one.facts.item_id if one.facts else None for one in found]
    assert facts == [None, "b", "a"]
    listed = find(Selection(scenes=("/first.tif", place)))
    assert [one.source for one in listed] == [one.location for one in found]


def test_one_page_of_a_search_is_not_taken_for_all(tmp_path: Path) -> None:
    page = pystac.ItemCollection([item("a")]).to_dict()
    page["links"] = [{"rel": "next", "href": "https://host/search?page=2"}]
    with pytest.raises(InputError, match="one page of a search that has more"):
        given_sources([write(tmp_path / "x.json", page)])


def test_documents_that_lead_nowhere(tmp_path: Path) -> None:
    empty = write(tmp_path / "x.json", pystac.ItemCollection([]).to_dict())
    with pytest.raises(InputError, match=r"x\.json leads to no item"):
        given_sources([empty])
    with pytest.raises(InputError, match=r"gone\.json"):
        given_sources([str(tmp_path / "gone.json")])
    unnamed = write(tmp_path / "y.json", item("x" * 201).to_dict())
    with pytest.raises(InputError, match="its ID is not of 1 to 200"):
        given_sources([unnamed])


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/a/item.json", True),
        ("/a/ITEMS.GeoJSON", True),
        ("s3://b/item.json", True),
        ("https://h/v1/collections/s2/items/S2A", True),
        ("https://h/v1/collections/s2/items?limit=3", True),
        ("https://h/v1/search?bbox=1,2,3,4", True),
        ("https://h/item.json?sig=1", True),
        ("https://h/a.tif?x=item.json", False),
        ("/a/search", False),
        ("https://h/items/a.tif", False),
    ],
)
def test_what_is_a_document_by_its_name(location: str, expected: bool) -> None:
    assert is_stac(location) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1220" + "ab" * 32, (0x12, "ab" * 32)),
        ("d50110" + "ab" * 16, (0xD5, "ab" * 16)),
        ("ab" * 16, None),
        ("1220" + "ab" * 31, None),
        ("12", None),
        ("", None),
        ("zz", None),
        ("ff" * 40, None),
    ],
)
def test_multihashes(text: str, expected: tuple[int, str] | None) -> None:
    assert multihash(text) == expected


def test_a_large_source_on_a_server_is_not_read_for_its_checksum() -> None:
    pin = Pin("https://host/a.tif", None, '"etag"', None, 1 << 40)
    facts = ItemFacts("a", checksum="1220" + "0" * 64)
    (note,) = check_facts(facts, pin, "https://host/a.tif")
    assert "not compared" in note
    with pytest.raises(InputError, match="file:size"):
        check_facts(replace(facts, size_bytes=7), pin, "https://host/a.tif")


def test_what_is_kept_of_a_time(tmp_path: Path, raster: bytes) -> None:
    place = write(tmp_path / "item.json", described(raster))
    plan, _ = plan_scene([place], PlanOptions())
    assert json.loads(plan.canonical)["datetime_source"] == "item:scene-7"


class Pages(BaseHTTPRequestHandler):
    """A search's URL whose two pages lead on by GET."""

    def do_GET(self) -> None:
        last = self.path.endswith("token=2")
        page = pystac.ItemCollection([item("b" if last else "a")]).to_dict()
        host = f"http://127.0.0.1:{self.server.server_address[1]}"
        page["links"] = [] if last else [{"rel": "next", "href": f"{host}/search?token=2"}]
        body = json.dumps(page).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/geo+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *given: object) -> None:
        pass


def test_a_search_s_url_gives_all_its_pages() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}/search?collections=s2&limit=1"
            found = given_sources([url], "visual")
        finally:
            server.shutdown()
            thread.join()
    assert [one.facts.item_id for one in found if one.facts] == ["a", "b"]
    assert [one.location for one in found] == ["s3://scenes/a.tif", "s3://scenes/b.tif"]
