"""Links that lead nowhere: refused by name, before pystac takes them apart, and by themselves."""

from pathlib import Path
from typing import Any

import pytest

from scenemosaic.discovery.found import Found
from scenemosaic.discovery.stac import Search, search
from tests.discovery.test_stac import COG, item, write

NO_HOST = [
    "http://[::1/a.tif?sig=SECRET",
    "http://user:SECRET@[::1/a.tif",
    "//user:SECRET@[x/a.tif",
    "s3://[b/a.tif",
    "file://[/a.tif",
    "http://user:SECRET@\u2102\u2100.example/a.tif",  # normalised, it would hold a slash
]
NOTHING = ["", " ", "\n", "\0", "?sig=SECRET", "#SECRET", "./\ud800.tif"]
LINKS = [(link, "no link, since its host is none") for link in NO_HOST]
LINKS += [(link, "not a link to a file") for link in NOTHING]


def described(href: str, **more: Any) -> dict[str, Any]:
    value: dict[str, Any] = item("scene").to_dict()
    return value | {"assets": {"visual": {"type": COG, "href": href}}} | more


def only(place: str) -> Found:
    (found,) = search(Search(place))
    assert "SECRET" not in f"{found}"
    return found


@pytest.mark.parametrize(("href", "words"), LINKS)
def test_an_asset_s_link_that_leads_nowhere_is_named(tmp_path: Path, href: str, words: str) -> None:
    place = write(tmp_path / "item.json", described(href))
    said = str(only(place).refused)
    assert said.startswith(f"item scene of {place}: its assets.visual.href is ")
    assert words in said
    assert "mend the item" in said


def test_an_asset_that_nobody_asks_for_may_lead_nowhere(tmp_path: Path) -> None:
    value = described("./a.tif")
    value["assets"]["thumbnail"] = {"type": "image/png", "href": "http://[::1/"}
    found = only(write(tmp_path / "item.json", value))
    assert (found.source, found.refused) == (str(tmp_path / "a.tif"), None)


def test_an_item_s_own_link_is_named(tmp_path: Path) -> None:
    own = {"links": [{"rel": "self", "href": "http://[::1/item.json?sig=SECRET"}]}
    page = {"type": "FeatureCollection", "features": [described("./a.tif", **own)]}
    said = str(only(write(tmp_path / "items.json", page)).refused)
    assert "its link (rel self) is no link, since its host is none" in said


@pytest.mark.parametrize("rel", ["item", "child"])
@pytest.mark.parametrize(("href", "words"), LINKS)
def test_a_catalog_s_link_that_leads_nowhere_stops_no_other(
    tmp_path: Path, rel: str, href: str, words: str
) -> None:
    write(tmp_path / "item.json", described("./a.tif"))
    links = [{"rel": rel, "href": href}, {"rel": "item", "href": "./item.json"}]
    catalog = {"type": "Catalog", "id": "c", "description": "d", "stac_version": "1.0.0"}
    place = write(tmp_path / "catalog.json", catalog | {"links": links})
    found = list(search(Search(place)))
    assert "SECRET" not in f"{found}"
    assert [one.source for one in found if one.refused is None] == [str(tmp_path / "a.tif")]
    (said,) = [one.refused for one in found if one.refused is not None]
    assert f" of {place}: its link (rel {rel}) is " in said
    assert words in said
