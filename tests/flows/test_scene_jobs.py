"""Scenes that a STAC item led to: what it says of them is compared, and its asset is taken."""

import json
from pathlib import Path

import numpy as np
import pytest
import rasterio

from flows.forms.item_fields import ItemFields
from flows.forms.scene_selection import SceneSelection
from flows.process import process_scene
from flows.starting.jobs import plan_found
from flows.starting.launch import Launch, Where
from scenemosaic.discovery.stac import Search, search
from scenemosaic.errors import InputError
from scenemosaic.job import plan_at
from scenemosaic.places import place_at
from scenemosaic.plans.plan import PlanOptions
from tests.discovery.test_given import described
from tests.discovery.test_stac import write
from tests.plan.rasters import write_raster


@pytest.fixture
def raster(tmp_path: Path) -> bytes:
    pixels = np.arange(300).reshape(1, 15, 20).astype("uint8")
    return Path(write_raster(tmp_path / "a.tif", pixels)).read_bytes()


def test_a_found_scene_is_what_its_item_says(tmp_path: Path, raster: bytes) -> None:
    place = place_at(str(tmp_path / "root"), None)
    (found,) = search(Search(write(tmp_path / "item.json", described(raster))))
    # Whatever chose the asset has done so already.
    scene = plan_found(found, place, PlanOptions(asset="visual"))
    assert scene.spec.plan.datetime_source == f"item:{found.facts.item_id}"
    changed = described(raster, **{"file:checksum": "1220" + "0" * 64})
    (found,) = search(Search(write(tmp_path / "item.json", changed)))
    with pytest.raises(InputError, match="file:checksum"):
        plan_found(found, place, PlanOptions())


@pytest.mark.parametrize("tag", [None, "2020:01:01 00:00:00"])
def test_a_search_and_the_item_itself_are_one_job(
    tmp_path: Path, raster: bytes, tag: str | None
) -> None:
    """By the same time, whatever the raster says; and so is what a deployment's run is told."""
    if tag is not None:
        with rasterio.open(tmp_path / "a.tif", "r+") as dataset:
            dataset.update_tags(TIFFTAG_DATETIME=tag)
    item = write(tmp_path / "item.json", described((tmp_path / "a.tif").read_bytes()))
    place = place_at(str(tmp_path / "root"), None)
    by_itself = plan_at([item], place, PlanOptions())
    (found,) = search(Search(item))
    scene = plan_found(found, place, PlanOptions())
    assert scene.spec.plan == by_itself.plan
    assert scene.spec.plan.datetime == found.taken
    told = Launch(scene, Where(str(tmp_path / "root"))).parameters()
    facts = ItemFields(**json.loads(json.dumps(told["item"]))).facts()
    assert facts == found.facts
    assert plan_at(told["sources"], place, PlanOptions(item=facts)).plan == by_itself.plan
    with pytest.raises(InputError, match="is of one raster"):
        plan_at([item], place, PlanOptions(item=facts))


def test_the_flow_takes_items_and_their_asset(tmp_path: Path, raster: bytes) -> None:
    place = write(tmp_path / "item.json", described(raster))
    state = process_scene.fn(sources=[place], to=str(tmp_path / "root"), asset="nir")
    assert state.name == "BadInput"
    assert "it has no asset 'nir', but visual" in str(state.message)
    state = process_scene.fn(sources=[place], to=str(tmp_path / "root"), title="a\nb")
    assert "a title is 1 to 200 printable characters" in str(state.message)


@pytest.mark.parametrize("scene", ["item.json", "a.tif"])
def test_the_asset_of_listed_items_may_be_named(scene: str) -> None:
    given = {"scenes": [f"/scenes/{scene}"], "asset": "visual"}
    if scene == "a.tif":
        with pytest.raises(ValueError, match="belong to a STAC search"):
            SceneSelection(**given)
    else:
        assert SceneSelection(**given).selection().asset == "visual"
