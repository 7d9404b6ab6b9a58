"""STAC items that lie on servers, and the rasters beside them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from scenemosaic.discovery.given import given_sources
from scenemosaic.errors import InputError
from scenemosaic.planning import plan_scene
from scenemosaic.plans.plan import PlanOptions
from tests.discovery.test_given import described
from tests.plan.web import Site


@pytest.fixture
def raster(site: Site) -> bytes:
    return (site.folder / "a.tif").read_bytes()


def put(place: Path, value: dict[str, Any]) -> None:
    place.write_text(json.dumps(value))


def test_an_item_on_the_web(site: Site, raster: bytes) -> None:
    put(site.folder / "item.json", described(raster))
    plan, locations = plan_scene([f"{site.url}/item.json?sig=s3cret"], PlanOptions())
    assert locations == (f"{site.url}/a.tif",)
    assert plan.datetime_source == "item:scene-7"
    put(site.folder / "item.json", described(raster, **{"file:checksum": "1220" + "0" * 64}))
    with pytest.raises(InputError, match="file:checksum") as caught:  # so small: it was read
        plan_scene([f"{site.url}/item.json"], PlanOptions())
    assert hashlib.sha256(raster).hexdigest() in str(caught.value)


def test_an_item_under_any_name(site: Site, raster: bytes) -> None:
    put(site.folder / "scene", described(raster))
    (found,) = given_sources([f"{site.url}/scene"], "visual")
    assert found.location == f"{site.url}/a.tif"
    (found,) = given_sources([f"{site.url}/scene"])  # without an asset it is a raster's
    assert (found.location, found.facts) == (f"{site.url}/scene", None)


def test_an_item_on_s3(site: Site, raster: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", site.url)
    put(site.folder / "bucket" / "item.json", described(raster))
    plan, locations = plan_scene(["s3://bucket/item.json"], PlanOptions())
    assert locations == ("s3://bucket/a.tif",)
    assert plan.sources[0].uri == "s3://bucket/a.tif"
    with pytest.raises(InputError, match=r"s3://bucket/none\.json: no such object"):
        plan_scene(["s3://bucket/none.json"], PlanOptions())


@pytest.mark.parametrize("href", ["file:///etc/passwd", "/etc/passwd", "gs://b/a.tif"])
def test_a_server_s_item_names_no_file_of_this_machine(
    site: Site, raster: bytes, href: str
) -> None:
    value = described(raster)
    value["assets"]["visual"]["href"] = href
    put(site.folder / "item.json", value)
    if href.startswith("/"):  # of the server's own root
        (found,) = given_sources([f"{site.url}/item.json"])
        assert found.location == f"{site.url}/etc/passwd"
        return
    with pytest.raises(InputError, match=r"a file of this machine|gs:// is not read"):
        given_sources([f"{site.url}/item.json"])
