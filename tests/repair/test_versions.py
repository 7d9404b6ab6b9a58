"""Lossy tiles of several versions of a codec: refused by assembly, and mended by a repair."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import rasterio

from scenemosaic import job
from scenemosaic.errors import IncompleteError
from scenemosaic.machine.software import software_versions
from scenemosaic.manifests.port import Updated
from scenemosaic.planning import PlanOptions
from scenemosaic.verification.verify import verify
from tests.jobs.places import MakePlace
from tests.repair.made import MAKER, Made

OTHER = "0000_0001"


@pytest.fixture
def lossy(local_place: MakePlace, tmp_path: Path) -> Made:
    """Four tiles in JPEG; the row of one says that another GDAL made it."""
    scene, place = tmp_path / "scene.tif", local_place()
    with rasterio.open(
        scene, "w", driver="GTiff", height=200, width=200, count=3, dtype="uint8",
        photometric="rgb", crs="EPSG:32631", transform=rasterio.Affine(10, 0, 5e5, 0, -10, 5e6),
    ) as dataset:  # fmt: skip
        dataset.write(np.random.default_rng(1).integers(0, 255, (3, 200, 200), np.uint8))
    options = PlanOptions(window=128, block_size=64, compress="jpeg")
    spec = job.plan_job([str(scene)], place.root, place.manifest, options)
    job.prepare(spec)
    job.publish_plan(spec, MAKER)
    made = Made(place, spec, scene)
    made.commit()
    said_by(made, "3.1.4")
    return made


def said_by(made: Made, gdal: str) -> None:
    row = made.row(OTHER)
    assert row is not None
    other = dataclasses.replace(row, software=dict(row.software, gdal=gdal))
    assert isinstance(made.session.manifest.replace(other, row.revision), Updated)


def gdal_of(made: Made) -> str:
    row = made.row(OTHER)
    assert row is not None
    return row.software["gdal"]


def test_a_window_that_is_named_is_made_again_and_its_row_says_so(lossy: Made) -> None:
    with pytest.raises(IncompleteError, match=rf"several versions of GDAL.*{OTHER}"):
        lossy.assemble()
    before = lossy.read(lossy.tile_key(OTHER))
    (one,) = lossy.repair(OTHER).windows
    assert (one.outcome, one.mended) == ("unchanged", True)
    assert lossy.read(lossy.tile_key(OTHER)) == before
    assert gdal_of(lossy) == software_versions()["gdal"]
    assert lossy.assemble().outcome == "already-present"  # the repair published it
    assert not verify(lossy.spec, deep=True).findings


def test_a_row_that_is_mended_alone_keeps_who_made_its_tile(lossy: Made) -> None:
    row = lossy.row(OTHER)
    assert row is not None
    wrong = dataclasses.replace(row, crc=tuple(crc ^ 1 for crc in row.crc))
    assert isinstance(lossy.session.manifest.replace(wrong, row.revision), Updated)
    assert [one.outcome for one in lossy.repair().windows] == ["unchanged"]
    assert gdal_of(lossy) == "3.1.4"
