"""The item of a finished job: what it says, who may read it, and when it is not believed."""

import json
from pathlib import Path
from typing import Any

import pystac
import pytest
import rasterio

from flows.terminal.console import Console
from flows.verbs import jobs as cli_jobs
from scenemosaic import job, keys
from scenemosaic.errors import ForeignObject
from scenemosaic.ledger.book import Wanted
from scenemosaic.planning import PlanOptions
from scenemosaic.publishing import latest, publication
from scenemosaic.publishing.collection import collection_json
from scenemosaic.publishing.pointer import read_latest
from scenemosaic.repair import restore_plan
from scenemosaic.session import Run, open_session
from tests.discovery.test_stac import COG, item, write
from tests.jobs.conftest import write_scene
from tests.jobs.places import MakePlace
from tests.repair.made import MAKER, Made, make

ALL = {"title": "Harz, May 2024", "collection": "harz", "datetime": "2024-05-01"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """128 x 96 pixels: four windows of 64."""
    path = write_scene(tmp_path_factory.mktemp("scene") / "scene.tif", 96, 128, bands=2)
    with rasterio.open(path, "r+") as dataset:
        dataset.descriptions, dataset.units = ("red", "nir"), ("DN", "")
        dataset.scales, dataset.offsets = (1e-4, 1.0), (-0.1, 0.0)
    return path


@pytest.fixture
def made(local_place: MakePlace, small: Path) -> Made:
    return make(local_place(), small, **ALL)


def test_it_says_what_is_stored(made: Made) -> None:
    value = made.item()
    assert value["properties"]["title"] == ALL["title"]
    data, preview = value["assets"]["data"], value["assets"]["preview"]
    assert data["bands"] == [
        {"name": "red", "unit": "DN", "raster:scale": 1e-4, "raster:offset": -0.1},
        {"name": "nir"},
    ]
    for asset in (data, preview):
        stored = made.stored(f"mosaics/{made.job_id}/{asset['href'][2:]}")
        assert asset["file:size"] == stored.size_bytes
        sha256 = stored.metadata.get("sha256")
        assert asset.get("file:checksum") == (sha256 and f"1220{sha256}")
    assert "file:checksum" in preview


def test_its_collection_is_made_once_and_never_written_over(made: Made, small: Path) -> None:
    read = pystac.read_file(str(made.path(keys.item_key(made.job_id))))
    assert isinstance(read, pystac.Item)
    found = read.get_collection()
    assert found is not None
    assert found.id == "harz"
    key = keys.collection_key("harz")
    assert made.read(key) == collection_json("harz")
    own = b'{"type":"Collection","id":"harz","description":"of people"}'
    made.overwrite(key, own)
    make(made.place, small, **ALL | {"title": "Another"})
    assert made.read(key) == own


@pytest.mark.parametrize("what", ["file:size", "scenemosaic:digest"])
def test_one_of_another_mosaic_is_not_believed(made: Made, what: str) -> None:
    value = made.item()
    value["assets"]["data"][what] = 7
    made.overwrite(keys.item_key(made.job_id), json.dumps(value).encode())
    with pytest.raises(ForeignObject, match=r"item\.json is not believed: .* move it away"):
        job.finished(made.spec)
    made.delete(keys.item_key(made.job_id))
    assert made.assemble(Run("again", "again")).outcome == "already-present"
    assert job.finished(made.spec) is not None


def status(made: Made, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert cli_jobs.status(made.job_id, made.spec.place, Console(as_json=True)) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_latest_and_catalog_tell_people_which_it_is(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    before = status(made, capsys)
    assert (before["title"], before["latest"], before["finished"]) == (ALL["title"], False, True)
    wanted = Wanted("publisher", made.job_id)
    publication.publish(made.spec, "publish", wanted)
    stands = read_latest(open_session(made.spec).store)
    assert stands is not None
    assert stands.target.title == ALL["title"]
    (link,) = latest.listed(made.read(keys.CATALOG_KEY), "catalog").values()
    assert link["title"] == ALL["title"]
    assert status(made, capsys)["latest"] is True
    assert cli_jobs.status(made.job_id, made.spec.place, Console(as_json=False)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"title    {ALL['title']}" in lines
    assert "latest   names this job, revision 0" in lines


def test_a_plan_whose_time_came_from_an_item_is_put_back(
    local_place: MakePlace, small: Path, tmp_path: Path
) -> None:
    described: Any = item("scene-7")
    described.assets = {"visual": pystac.Asset(str(small), media_type=COG)}
    place = local_place()
    of_item = make(place, Path(write(tmp_path / "item.json", described.to_dict())), title="Harz")
    assert of_item.spec.plan.datetime_source == "item:scene-7"
    of_item.delete(keys.plan_key(of_item.job_id))
    loaded = restore_plan.load(of_item.job_id, of_item.spec.place, [str(small)], MAKER)
    assert (loaded[0].plan, loaded[1]) == (of_item.spec.plan, True)


def test_everybody_writes_the_same_item(local_place: MakePlace, small: Path) -> None:
    items = []
    for name in ("one", "two"):
        made = make(local_place(), small, **ALL)
        assert (
            made.spec.plan.job_id
            == job.plan_job(
                [str(small)], made.place.root, None, PlanOptions(window=64, block_size=64, **ALL)
            ).plan.job_id
        ), name
        items.append(made.read(keys.item_key(made.job_id)))
    assert items[0] == items[1]
