"""STAC files and a search API, as others write them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pystac
import pytest

from scenemosaic.discovery.stac import Search, search
from scenemosaic.errors import InputError, PermanentStoreError, TransientStoreError

COG = "image/tiff; application=geotiff; profile=cloud-optimized"


def item(name: str, day: int = 1, collection: str | None = None) -> pystac.Item:
    when = datetime(2024, 5, day, 10, tzinfo=UTC)
    made = pystac.Item(name, None, None, when, {"updated": "2024-06-01T00:00:00Z"})
    made.collection_id = collection
    made.add_asset("visual", pystac.Asset(f"s3://scenes/{name}.tif", media_type=COG))
    made.add_asset(
        "thumb", pystac.Asset("./thumb.tif", media_type="image/tiff", roles=["thumbnail"])
    )
    return made


def write(path: Path, value: dict[str, Any]) -> str:
    path.write_text(json.dumps(value))
    return str(path)


def collected(path: Path, *items: pystac.Item) -> str:
    return write(path, pystac.ItemCollection(items).to_dict())


def test_an_item_s_one_raster_is_the_scene(tmp_path: Path) -> None:
    (found,) = search(Search(write(tmp_path / "item.json", item("a").to_dict())))
    assert found.source == "s3://scenes/a.tif"
    assert (found.taken, found.seen_at) == ("2024-05-01T10:00:00Z", "2024-06-01T00:00:00Z")


def test_days_are_whole_and_both_included(tmp_path: Path) -> None:
    place = collected(tmp_path / "items.json", *(item(f"s{day}", day) for day in range(1, 6)))
    found = search(Search(place, since=date(2024, 5, 2), until=date(2024, 5, 4)))
    assert [one.source for one in found] == [f"s3://scenes/s{day}.tif" for day in (2, 3, 4)]
    with pytest.raises(InputError, match="swap the two days"):
        Search(place, since=date(2024, 5, 4), until=date(2024, 5, 2))


def test_only_the_collections_that_are_named(tmp_path: Path) -> None:
    place = collected(tmp_path / "i.json", item("a", 1, "one"), item("b", 1, "two"), item("c"))
    found = search(Search(place, collections=("one",)))
    assert [one.source for one in found] == ["s3://scenes/a.tif"]


def test_a_catalog_is_walked_and_relative_links_are_resolved(tmp_path: Path) -> None:
    catalog = pystac.Catalog("c", "of scenes")
    inner = item("a")
    inner.assets["visual"].href = "./a.tif"
    catalog.add_item(inner)
    catalog.normalize_and_save(str(tmp_path), pystac.CatalogType.SELF_CONTAINED)
    (found,) = search(Search(str(tmp_path / "catalog.json")))
    assert found.source == str(tmp_path / "a" / "a.tif")


@pytest.mark.parametrize(
    ("assets", "named", "reason"),
    [
        ({}, None, "0 raster assets"),
        ({"r": COG, "g": COG}, None, "2 raster assets (g, r)"),
        ({"r": COG}, "nir", "no asset 'nir', but r"),
    ],
)
def test_an_asset_that_is_not_clear_is_refused(
    tmp_path: Path, assets: dict[str, str], named: str | None, reason: str
) -> None:
    made = item("scene-7")
    made.assets = {}
    for key, media in assets.items():
        made.add_asset(key, pystac.Asset(f"s3://b/{key}.tif", media_type=media))
    place = write(tmp_path / "item.json", made.to_dict())
    (found,) = search(Search(place, asset=named))
    assert found.refused is not None
    assert found.refused.startswith(f"item scene-7 of {place}: it has {reason}")


@pytest.mark.parametrize("href", ["ftp://host/a.tif", "s3://user:secret@b/a.tif"])
def test_a_link_that_no_source_may_be_is_refused(tmp_path: Path, href: str) -> None:
    made = item("a")
    made.assets["visual"].href = href
    (found,) = search(Search(write(tmp_path / "item.json", made.to_dict())))
    assert found.refused
    assert "secret" not in repr(found)


BAD: list[Any] = [
    None,
    "item",
    [],
    {},
    {"type": "Feature", "id": 7},
    item("bad").to_dict() | {"properties": None},
    item("bad").to_dict() | {"properties": {"datetime": "last week"}},
    item("bad").to_dict() | {"assets": []},
    item("bad").to_dict() | {"assets": {"visual": {"type": COG}}},
    item("bad").to_dict() | {"assets": {"visual": {"type": COG, "href": 7}}},
    item("bad").to_dict() | {"assets": {"visual": {"type": 7, "href": "/a.tif"}}},
    item("bad").to_dict() | {"assets": {"visual": {"type": COG, "href": "s3://b/" + "a" * 2000}}},
    item("bad").to_dict() | {"assets": {"visual": {"type": COG, "href": "/a\0.tif"}}},
    item("bad").to_dict() | {"links": [7]},
    item("bad").to_dict() | {"stac_version": ["1"]},
]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_an_item_that_is_none_stops_no_other(tmp_path: Path, bad: Any) -> None:
    features = [item("a").to_dict(), bad, item("b").to_dict()]
    place = write(tmp_path / "x.json", {"type": "FeatureCollection", "features": features})
    first, refused, last = search(Search(place))
    assert (first.source, last.source) == ("s3://scenes/a.tif", "s3://scenes/b.tif")
    assert refused.refused is not None
    assert refused.refused.startswith(("item bad of ", "item number 2 of "))
    assert refused.version, "what is changed is looked at again"
    assert list(search(Search(place)))[1] == refused


def with_fields(**said: Any) -> dict[str, Any]:
    """An item whose asset says so much of its file."""
    fields = {name.replace("_", ":"): value for name, value in said.items()}
    asset = {"type": COG, "href": "s3://b/a.tif", **fields}
    return item("bad").to_dict() | {"assets": {"visual": asset}}


def dated(**properties: Any) -> dict[str, Any]:
    return item("bad").to_dict() | {"properties": properties}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in item("bad").to_dict().items() if key != name}


TIME = "not a time such as 2024-05-01T10:20:30Z"
ASSET = {"type": COG, "href": "s3://b/a.tif"}
BACKWARDS = {"start_datetime": "2024-05-02T00:00:00Z", "end_datetime": "2024-05-01T00:00:00Z"}
EARLY, LATE = "01-01T00:00:00+14:00", "12-31T23:59:59-12:00"  # in UTC of no year there is
WRONG: list[tuple[dict[str, Any], str]] = [
    (with_fields(file_checksum=7), "its file:checksum is 7, not a multihash in hexadecimal"),
    (with_fields(file_checksum=["1220"]), 'its file:checksum is ["1220"], not a multihash'),
    (with_fields(file_size="12"), 'its file:size is "12", not a number of bytes'),
    (with_fields(file_size=True), "its file:size is true, not a number of bytes"),
    (with_fields(file_size=12.5), "its file:size is 12.5, not a number of bytes"),
    (with_fields(file_checksum="zz"), 'its file:checksum is "zz", not a multihash'),
    (with_fields(file_checksum="1220ab"), 'its file:checksum is "1220ab", not a multihash'),
    (without("stac_version"), "its stac_version is missing, not a version"),
    (without("properties"), "its properties is missing, not an object"),
    (item("bad").to_dict() | {"properties": [1]}, "its properties is [1], not an object"),
    (item("bad").to_dict() | {"assets": []}, "its assets is [], not an object of assets by name"),
    (item("bad").to_dict() | {"assets": {"a": "a.tif"}}, 'its assets.a is "a.tif", not an object'),
    (item("bad").to_dict() | {"assets": {"a": {}}}, "its assets.a.href is missing, not a link"),
    (
        item("bad").to_dict() | {"assets": {"a": ASSET | {"type": 7}}},
        "its assets.a.type is 7, not a media type",
    ),
    (
        item("bad").to_dict() | {"assets": {"a": ASSET | {"roles": "data"}}},
        'its assets.a.roles is "data", not a list of texts',
    ),
    (
        item("bad").to_dict() | {"links": {"rel": "self"}},
        'its links is {"rel": "self"}, not a list',
    ),
    (item("bad").to_dict() | {"links": [7]}, "its links[0] is 7, not a link with rel and href"),
    (item("bad").to_dict() | {"stac_extensions": [7]}, "its stac_extensions is [7], not a list of"),
    (dated(datetime="yesterday"), f'its datetime is "yesterday", {TIME}'),
    (
        dated(datetime=None, start_datetime="a", end_datetime=None),
        f'its start_datetime is "a", {TIME}',
    ),
    (dated(), f"its datetime is missing, {TIME}, or null beside start_datetime"),
    (dated(datetime="2024-05-01", updated="May"), f'its updated is "May", {TIME}'),
    (
        dated(datetime=None, start_datetime="a", end_datetime="b"),
        f'its start_datetime is "a", {TIME}',
    ),
    (dated(datetime=f"0001-{EARLY}"), f'its datetime is "0001-{EARLY}", {TIME}'),
    (
        dated(datetime="2024-05-01", updated=f"9999-{LATE}"),
        f'its updated is "9999-{LATE}", {TIME}',
    ),
    (
        dated(datetime=None, start_datetime=f"0001-{EARLY}", end_datetime="2024-05-01"),
        f'its start_datetime is "0001-{EARLY}", {TIME}',
    ),
    (
        dated(datetime=None, **BACKWARDS),
        "its end_datetime 2024-05-01T00:00:00Z is before its start_datetime 2024-05-02T00:00:00Z",
    ),
]


@pytest.mark.parametrize(("bad", "reason"), WRONG, ids=range(len(WRONG)))
def test_what_an_item_says_wrongly_is_named(
    tmp_path: Path, bad: dict[str, Any], reason: str
) -> None:
    (found,) = search(Search(write(tmp_path / "x.json", bad)))
    assert found.refused is not None
    assert found.refused.startswith(f"item bad of {tmp_path / 'x.json'}: {reason}")
    assert found.refused.endswith("mend the item, or give the source itself")


def test_only_the_asset_that_is_used_need_say_its_file_well(tmp_path: Path) -> None:
    bad = with_fields(file_checksum="zz", file_size="7")
    bad["assets"]["good"] = ASSET | {"roles": ["data"]}
    (found,) = search(Search(write(tmp_path / "x.json", bad)))
    assert found.refused is None
    (found,) = search(Search(write(tmp_path / "x.json", bad), asset="visual"))
    assert found.refused is not None
    bad["assets"]["visual"] |= {"type": 7, "roles": "data"}
    bad["properties"] |= {"start_datetime": "soon", "created": "May"}
    (found,) = search(Search(write(tmp_path / "x.json", bad), asset="good"))
    assert found.refused is None


@pytest.mark.parametrize("kind", ["item", "items", "catalog"])
def test_a_byte_order_mark_is_passed_over(tmp_path: Path, kind: str) -> None:
    if kind == "catalog":
        catalog = pystac.Catalog("c", "of scenes")
        catalog.add_item(item("a"))
        catalog.normalize_and_save(str(tmp_path), pystac.CatalogType.SELF_CONTAINED)
    elif kind == "items":
        collected(tmp_path / "items.json", item("a"))
    else:
        write(tmp_path / "item.json", item("a").to_dict())
    for path in tmp_path.rglob("*.json"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    (found,) = search(Search(str(tmp_path / f"{kind}.json")))
    assert (found.source, found.refused) == ("s3://scenes/a.tif", None)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"type": "Feature", "asse', "it is no whole JSON (Unterminated string"),
        ("{}".encode("utf-16"), "its byte 0 is no UTF-8 text"),
        (b"[" * 100_000, "its JSON is nested too deeply"),
    ],
)
def test_what_is_no_json_says_what_it_is(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(InputError) as caught:
        list(search(Search(str(tmp_path / "x.json"))))
    assert str(caught.value).startswith(f"{tmp_path / 'x.json'} cannot be read as STAC: {said}")


def test_links_of_a_collected_item_are_relative_to_the_file(tmp_path: Path) -> None:
    made = item("a")
    made.assets["visual"].href = "./below/a.tif"
    (found,) = search(Search(collected(tmp_path / "items.json", made)))
    assert found.source == str(tmp_path / "below" / "a.tif")


@pytest.mark.parametrize("last", ["a.json", "b.json", "c.json"])
def test_catalogs_that_lead_in_a_circle_are_named(tmp_path: Path, last: str) -> None:
    for name, child in (("a.json", "b.json"), ("b.json", "c.json"), ("c.json", last)):
        value = pystac.Catalog(name, "of catalogs").to_dict()
        links = [{"rel": "child", "href": f"./{child}"}]
        write(tmp_path / name, value | {"links": links})
    with pytest.raises(InputError, match="lead in a circle") as caught:
        list(search(Search(str(tmp_path / "a.json"))))
    assert f"{tmp_path / 'c.json'} to {tmp_path / last}: mend" in str(caught.value)


def test_a_catalog_s_broken_item_stops_no_other(tmp_path: Path) -> None:
    catalog = pystac.Catalog("c", "of scenes")
    for name in ("a", "b", "gone", "text", "nested"):
        catalog.add_item(item(name))
    catalog.normalize_and_save(str(tmp_path), pystac.CatalogType.SELF_CONTAINED)
    (tmp_path / "gone" / "gone.json").unlink()
    (tmp_path / "text" / "text.json").write_text("no JSON")
    nested = pystac.Catalog("d", "no item").to_dict()
    write(tmp_path / "nested" / "nested.json", nested)
    found = list(search(Search(str(tmp_path / "catalog.json"))))
    assert [one.source for one in found[:2]] == ["s3://scenes/a.tif", "s3://scenes/b.tif"]
    for one, name in zip(found[2:], ("gone", "text", "nested"), strict=True):
        assert one.refused is not None
        assert f"{name}.json" in one.refused
    said = ("No such file", "it is no whole JSON", "what stands there is no Item, but a")
    for one, reason in zip(found[2:], said, strict=True):
        assert reason in str(one.refused)


@pytest.mark.parametrize("text", [None, "no JSON", "[]", json.dumps(item("a").to_dict())])
def test_a_catalog_s_broken_child_stops_no_other(tmp_path: Path, text: str | None) -> None:
    value = pystac.Catalog("a", "of catalogs").to_dict()
    links = [{"rel": "child", "href": f"./{name}.json"} for name in ("b", "c")]
    place = write(tmp_path / "a.json", value | {"links": links})
    leaf = pystac.Catalog("c", "of scenes").to_dict()
    write(tmp_path / "c.json", leaf | {"links": [{"rel": "item", "href": "./i.json"}]})
    write(tmp_path / "i.json", item("i").to_dict())
    if text is not None:
        (tmp_path / "b.json").write_text(text)
    broken, found = search(Search(place))
    assert found.source == "s3://scenes/i.tif"
    assert str(broken.refused).startswith(f"catalog at {tmp_path / 'b.json'}: ")


NO_STAC = (
    "",
    "[]",
    '{"type": "Polygon"}',
    '{"type": "FeatureCollection", "features": 7}',
    "[" * 100_000,
)


@pytest.mark.parametrize("text", NO_STAC, ids=range(len(NO_STAC)))
def test_what_is_no_stac_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match=r"x\.json"):
        list(search(Search(str(tmp_path / "x.json"))))
    with pytest.raises(InputError, match=r"nowhere\.json"):
        list(search(Search(str(tmp_path / "nowhere.json"))))


class Api(BaseHTTPRequestHandler):
    """A search of two pages, or one status for all."""

    status = 200
    asked: list[dict[str, Any]]

    def do_GET(self) -> None:
        base = f"http://127.0.0.1:{self.server.server_address[1]}"
        links = [{"rel": "root", "href": base}, {"rel": "self", "href": base}]
        links += [{"rel": "search", "href": f"{base}/search", "method": "POST"}]
        conforms = ["https://api.stacspec.org/v1.0.0/core"]
        conforms += ["https://api.stacspec.org/v1.0.0/item-search"]
        self._answer(
            {**pystac.Catalog("api", "d").to_dict(), "links": links, "conformsTo": conforms}
        )

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(asked)
        base = f"http://127.0.0.1:{self.server.server_address[1]}"
        second = asked.get("token") == "2"
        following = {"rel": "next", "href": f"{base}/search", "method": "POST"}
        following |= {"body": {"token": "2"}, "merge": True}
        page = {"type": "FeatureCollection", "features": [item("b" if second else "a").to_dict()]}
        self._answer({**page, "links": [] if second else [following]})

    def _answer(self, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(status: int = 200) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    handler = type("Handler", (Api,), {"status": status, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", handler.asked
        finally:
            server.shutdown()
            thread.join()


def test_a_search_follows_every_page() -> None:
    with serving() as (url, asked):
        found = list(search(Search(url, ("s2",), date(2024, 5, 1), date(2024, 5, 31))))
    assert [one.source for one in found] == ["s3://scenes/a.tif", "s3://scenes/b.tif"]
    assert asked[0]["collections"] == ["s2"]
    assert asked[0]["datetime"].startswith("2024-05-01T00:00:00Z/2024-05-31T23:59:59")


@pytest.mark.parametrize(
    ("status", "error"), [(403, PermanentStoreError), (503, TransientStoreError)]
)
def test_an_api_s_refusal_is_told_apart(status: int, error: type[Exception]) -> None:
    with serving(status) as (url, _), pytest.raises(error, match=str(status)):
        list(search(Search(url)))


def test_an_api_that_is_gone_is_transient() -> None:
    with serving() as (url, _):
        pass
    with pytest.raises(TransientStoreError):
        list(search(Search(url)))
