"""Publishing what was repaired: a publication pins a revision, and a repair moves none."""

import json
from typing import Any
from unittest import mock

import numpy as np
import pytest
import rasterio
from rasterio.io import MemoryFile

from scenemosaic import keys
from scenemosaic.ledger.book import Wanted
from scenemosaic.publishing import publication
from scenemosaic.sources import computed_bands as source_bands
from tests.repair.conftest import MakeJob
from tests.repair.made import Made

FIRST, SECOND = "0001_0001", "0002_0000"


@pytest.fixture
def spoiled(make_job: MakeJob) -> Made:
    """A finished job, two of whose windows were read wrongly when they were made."""
    real = source_bands.read_window

    def read(location: str, window: Any, pin: Any = None) -> Any:
        pixels, mask = real(location, window, pin)
        return (np.zeros_like(pixels) if window.name in (FIRST, SECOND) else pixels), mask

    with mock.patch.object(source_bands, "read_window", read):
        return make_job()


def publish(made: Made, run_id: str) -> publication.Publication:
    wanted = Wanted(run_id, made.job_id, 10, "UTC", "op@host")
    found = publication.publish(made.spec, "daily", wanted)
    assert found.conflict is None
    return found


def document(made: Made, key: str) -> dict[str, Any]:
    return dict(json.loads(made.read(key)))


def pins(made: Made, revision: int) -> dict[str, Any]:
    """What names and proves the mosaic of a revision, as it stands."""
    stands = made.stored(keys.mosaic_key(made.job_id, revision))
    version = {} if stands.version_id is None else {"version_id": stands.version_id}
    proof = {"digest": stands.metadata["digest"], "etag": stands.etag, **version}
    return {
        "mosaic": f"./{keys.mosaic_key(made.job_id, revision).removeprefix('mosaics/')}",
        **proof,
    }


def stands_pinned(made: Made, revision: int) -> None:
    """latest.json and the catalog's link name this very mosaic."""
    latest, expected = document(made, keys.POINTER_KEY), pins(made, revision)
    found = {name: value for name, value in latest["mosaic"].items() if name != "bytes"}
    assert {"mosaic": found.pop("href"), **found} == expected
    assert (latest["job_id"], latest["revision"]) == (made.job_id, revision)
    _, link = document(made, keys.CATALOG_KEY)["links"]
    prefix = "scenemosaic:"
    linked = {name.removeprefix(prefix): link[name] for name in link if name.startswith(prefix)}
    assert linked == {"revision": revision, **expected}
    assert link["href"] == f"./{made.job_id}/item.json"


def pinned_bytes(made: Made) -> bytes:
    """The mosaic as a reader of latest.json finds it: by its link, ETag and all."""
    mosaic = document(made, keys.POINTER_KEY)["mosaic"]
    key = f"mosaics/{mosaic['href'].removeprefix('./')}"
    data = made.session.store.get(key, etag=mosaic["etag"])
    assert len(data) == mosaic["bytes"]
    return data


def wrong_windows(made: Made, data: bytes) -> set[str]:
    """The windows of a mosaic whose pixels are not the source's."""
    with MemoryFile(data) as memory, memory.open() as mosaic, rasterio.open(made.scene) as scene:
        differs = (mosaic.read() != scene.read()).any(axis=0)
    tiling = made.spec.plan.recipe.tiling()
    return {one.name for one in tiling.windows() if differs[one.y0 : one.y1, one.x0 : one.x1].any()}


def test_each_publication_pins_the_revision_of_its_time(spoiled: Made) -> None:
    publish(spoiled, "monday")
    stands_pinned(spoiled, 0)
    assert wrong_windows(spoiled, pinned_bytes(spoiled)) == {FIRST, SECOND}

    assert spoiled.repair(FIRST).count("written") == 1
    stands_pinned(spoiled, 0)  # a repair publishes nothing
    publish(spoiled, "tuesday")
    stands_pinned(spoiled, 1)
    first = pinned_bytes(spoiled)
    assert wrong_windows(spoiled, first) == {SECOND}

    pointer, catalog = spoiled.read(keys.POINTER_KEY), spoiled.read(keys.CATALOG_KEY)
    assert spoiled.repair(SECOND).count("written") == 1
    assert spoiled.item()["properties"]["scenemosaic:revision"] == 2
    assert (spoiled.read(keys.POINTER_KEY), spoiled.read(keys.CATALOG_KEY)) == (pointer, catalog)
    assert pinned_bytes(spoiled) == first
    # The run that published the first revision is done, and stays at that.
    assert publish(spoiled, "tuesday").already
    stands_pinned(spoiled, 1)

    publish(spoiled, "wednesday")
    stands_pinned(spoiled, 2)
    assert wrong_windows(spoiled, pinned_bytes(spoiled)) == set()
    assert spoiled.read(keys.mosaic_key(spoiled.job_id, 1)) == first
